"""Collect the scores of each study, with results of other people's harnesses."""

from workflow_scripts.scores.foreign.requests import describe_imports


rule collect_scores:
    """Collect a study's records and imported folders into one tidy table of scores; one invalid file rejects a folder."""
    input:
        records=lambda wildcards: list_study_records(wildcards.study, wildcards),
        # Absolute paths, because another config in the same working directory may import what this run shares.
        imports=lambda wildcards: [
            Path(folder).absolute() for folder in SETTINGS.imports if wildcards.study == "harmony"
        ],
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
        version=5,
        arguments=lambda wildcards: describe_imports(SETTINGS, wildcards.study),
    script:
        "../workflow_scripts/scores/tidy.py"
