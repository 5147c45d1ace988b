"""What a run will cost, before it runs: `snakemake plan`."""

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
        version="plan 2",
        snakefile=main_snakefile(workflow),
        settings={
            "config": config,
            "cluster": SETTINGS.cluster.model_dump(),
            "gpu_gb": SETTINGS.devices[SETTINGS.cluster.gpu].memory_gb,
        },
    script:
        "../workflow_scripts/steps/plan.py"
