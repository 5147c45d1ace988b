"""The Harmony study: each model on each task. So far as it is; training before the test follows."""


rule evaluate_direct:
    input:
        model=model_manifest,
        data=dataset_manifest,
    output:
        record="results/records/harmony/direct/{model}/{task}.json",
        answers="results/records/harmony/direct/{model}/{task}.parquet",
    log:
        "logs/evaluate_direct/{model}/{task}.log",
    benchmark:
        "benchmarks/evaluate_direct/{model}/{task}.tsv"
    conda:
        EVALUATION_ENVIRONMENT
    threads: SETTINGS.compute.threads
    resources:
        mem_mb=evaluation_memory_mb,
        runtime="4h",
        gpu=GPUS_PER_JOB,
    params:
        version="evaluate_direct 2",  # raise it when the meaning of the record changes
        compute_threads=SETTINGS.compute.threads,
        settings=direct_settings,
    script:
        "../workflow_scripts/steps/evaluate_direct.py"


RECORDS["harmony"] = expand(
    rules.evaluate_direct.output.record,
    model=[CheckpointId(name).in_path for name in SETTINGS.harmony.models],
    task=SETTINGS.harmony.tasks,
)


rule table_harmony_scores:
    input:
        scores="results/scores/harmony.parquet",
        imported=SETTINGS.harmony.imported_scores,
    output:
        csv="results/tables/harmony_scores.csv",
        md="results/tables/harmony_scores.md",
        tex="results/tables/harmony_scores.tex",
    log:
        "logs/table_harmony_scores.log",
    localrule: True
    conda:
        "../envs/reporting.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="table_harmony_scores 2",
        settings={
            "models": rows_of_models(SETTINGS.harmony.models),
            "tasks": rows_of_tasks(SETTINGS.harmony.tasks),
            "metrics": METRICS_OF_TASKS,
        },
    script:
        "../workflow_scripts/steps/table_harmony_scores.py"


rule figure_harmony_scores:
    input:
        table=rules.table_harmony_scores.output.csv,
    output:
        pdf="results/figures/harmony_scores.pdf",
        png=report(
            "results/figures/harmony_scores.png",
            category="Harmony",
            caption="../docs/captions/harmony_scores.rst",
        ),
    log:
        "logs/figure_harmony_scores.log",
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
        "../workflow_scripts/steps/figure_harmony_scores.py"


rule harmony:
    input:
        RECORDS["harmony"],  # or a deleted record would stay away while its table is there
        rules.table_harmony_scores.output,
        rules.figure_harmony_scores.output,
        HARMONY_TABLES,
        HARMONY_FIGURES,
