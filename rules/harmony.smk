"""The Harmony grid: each model on each task, as it is, with examples, and after training on it."""


rule table_harmony_scores:
    """Table: scores of the Harmony grid as the models are, beside their floors."""
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
    """Figure: scores of the Harmony grid as the models are, beside their floors."""
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
    """Study: models ranked on tasks as they are and after training on each, and whether tasks agree."""
    input:
        # The records too, or a deleted one would stay away while its table is there.
        [
            RECORDS["harmony"],
            rules.table_harmony_scores.output,
            rules.figure_harmony_scores.output,
            HARMONY_TABLES,
            HARMONY_FIGURES,
            HARMONY_PERPLEXITY,
        ]
        if HARMONY_MODELS
        else [],
