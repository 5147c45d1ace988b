"""Collect the scores of each study, and import results of other people's harnesses."""

from workflow_scripts.scores.foreign.requests import build_import_request


rule collect_scores:
    """Collect a study's records into one tidy table of scores."""
    input:
        records=lambda wildcards: list_study_records(wildcards.study, wildcards),
        imports=lambda wildcards: (
            list_import_folders(SETTINGS) if wildcards.study == "harmony" else []
        ),
    output:
        scores="results/scores/{study}.parquet",
        errors="results/scores/{study}_errors.parquet",
    log:
        "logs/collect_scores/{study}.log",
    wildcard_constraints:
        study=match_any(RECORDS),
    localrule: True
    conda:
        "../envs/reporting.yaml"
    params:
        version=4,
    script:
        "../workflow_scripts/scores/tidy.py"


rule import_results:
    """Import a folder of lm-eval, lighteval or Every Eval Ever results; one invalid file rejects the folder."""
    input:
        # An absolute path, because another config in the same working directory may import what this run shares.
        folder=lambda wildcards: Path(
            build_import_request(SETTINGS, wildcards.imported)["folder"]
        ).absolute(),
    output:
        imports=directory("results/imports/{imported}"),
    log:
        "logs/import_results/{imported}.log",
    wildcard_constraints:
        imported=match_any(SETTINGS.import_folders),
    localrule: True
    conda:
        "../envs/lm_eval.yaml"
    params:
        version=5,
        request=lambda wildcards: build_import_request(SETTINGS, wildcards.imported),
    script:
        "../workflow_scripts/scores/foreign/imports.py"
