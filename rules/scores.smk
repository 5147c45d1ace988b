"""The scores of each study, and those read from other people's harnesses."""

from workflow_scripts.scores.foreign.requests import import_request


# Other small work on files takes its shape from this rule. What it does not inherit is `localrule`: whoever
# takes it says that again, or the job is sent to a cluster.
rule collect_scores:
    """Gather a study's records into one tidy table of scores."""
    input:
        records=lambda wildcards: records_of(wildcards.study, wildcards),
        imports=lambda wildcards: (
            list_import_folders(SETTINGS) if wildcards.study == "harmony" else []
        ),
    output:
        scores="results/scores/{study}.parquet",
        errors="results/scores/{study}_errors.parquet",
    log:
        "logs/collect_scores/{study}.log",
    wildcard_constraints:
        study=one_of(RECORDS),
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version=4,
        function="scores.tidy.collect_scores",
        request={},
    script:
        "../workflow_scripts/steps/files.py"


use rule collect_scores as import_results with:
    """Read what other people's harnesses wrote into a folder: each file whole, or none of them."""
    input:
        # A whole path: what this run shares may be read by another config in the same folder.
        folder=lambda wildcards: Path(
            import_request(SETTINGS, wildcards.imported)["folder"]
        ).absolute(),
    output:
        folder=directory("results/imports/{imported}"),
    log:
        "logs/import_results/{imported}.log",
    wildcard_constraints:
        imported=one_of(SETTINGS.import_folders),
    localrule: True
    conda:
        "../envs/lm_eval.yaml"
    resources:
        mem_mb=4000,
        runtime="1h",
    params:
        version=5,
        function="scores.foreign.imports.import_results",
        request=lambda wildcards: import_request(SETTINGS, wildcards.imported),
