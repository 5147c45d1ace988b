"""What a run will cost, and whether the cluster takes its jobs, before it runs."""


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
        snakefile=str(Path(workflow.basedir, "Snakefile")),
        settings={
            "config": config,
            "cluster": SETTINGS.cluster.model_dump(),
            "gpu_gb": SETTINGS.devices[SETTINGS.cluster.gpu].memory_gb,
        },
    script:
        "../workflow_scripts/steps/plan.py"


rule check_cluster:
    """Ask Slurm whether it takes what the jobs request; with --profile slurm; submits nothing."""
    log:
        "logs/check_cluster.log",
    localrule: True
    conda:
        "../envs/planning.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        version=1,
        snakefile=str(Path(workflow.basedir, "Snakefile")),
        config=config,
    script:
        "../workflow_scripts/steps/check_cluster.py"
