"""From records to scores: what every table and figure is made from."""


rule collect_scores:
    input:
        records=records_of,
    output:
        scores="results/scores/{study}.parquet",
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
        version=1,
    script:
        "../workflow_scripts/steps/collect_scores.py"


rule merge_scores:
    input:
        studies=[f"results/scores/{study}.parquet" for study in RECORDS if study not in TIMED],
        imported=SETTINGS.harmony.imported_scores,
    output:
        parquet="results/scores.parquet",
        csv="results/scores.csv",
    log:
        "logs/merge_scores.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="merge_scores 2",
        settings={"metrics": METRICS_OF_TASKS},
    script:
        "../workflow_scripts/steps/merge_scores.py"
