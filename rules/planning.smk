"""What a run will cost, before it runs (`snakemake plan`), and what it did cost."""

from workflow_scripts.bridge.snakemake_settings import main_snakefile


# Without an output: asked for by name it always runs.
rule plan:
    """Say what the run will cost before it runs; measures nothing."""
    log:
        "logs/plan.log",
    localrule: True
    conda:
        "../envs/planning.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="plan 1",
        snakefile=main_snakefile(workflow),
        settings={"config": config, "cluster": SETTINGS.cluster.model_dump()},
    script:
        "../workflow_scripts/steps/plan.py"


# A table of times: never twice the same, and nothing is made from it.
rule table_cost:
    """Table: planned and actual time, memory and tokens of each rule."""
    input:
        records=all_records,
    output:
        csv="results/tables/cost.csv",
        md="results/tables/cost.md",
        tex="results/tables/cost.tex",
    log:
        "logs/table_cost.log",
    localrule: True
    conda:
        "../envs/planning.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version="table_cost 1",
        snakefile=main_snakefile(workflow),
        settings={"config": config, "cluster": SETTINGS.cluster.model_dump()},
    script:
        "../workflow_scripts/steps/table_cost.py"
