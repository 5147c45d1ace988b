"""What a run will cost, before it runs (`snakemake plan`), and what it did cost."""


# Without an output: asked for by name it always runs.
rule plan:
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
        version=1,
        snakefile=workflow.main_snakefile,
        settings={"config": config, "gpu": SETTINGS.cluster.gpu},
    script:
        "../workflow_scripts/steps/plan.py"


# A table of times: never twice the same, and nothing is made from it.
rule table_cost:
    input:
        records=list(RECORDS.values()),
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
        version=1,
        snakefile=workflow.main_snakefile,
        settings={"config": config, "cluster": SETTINGS.cluster.model_dump()},
    script:
        "../workflow_scripts/steps/table_cost.py"
