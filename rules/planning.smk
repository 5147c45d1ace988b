"""What a run will cost, before it runs: `snakemake plan`."""


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
