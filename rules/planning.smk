"""Estimate the cost of a run, and check that the cluster accepts its jobs, before it starts."""


# The rules have no output, so they always run when requested.
rule plan:
    """Estimate the cost of the remaining jobs (GPU hours, memory, disk) without running them."""
    log:
        "logs/plan.log",
    localrule: True
    conda:
        "../envs/planning.yaml"
    params:
        snakefile=str(Path(workflow.basedir, "Snakefile")),
        settings={
            "config": config,
            "cluster": SETTINGS.cluster.model_dump(),
            "gpu_gb": SETTINGS.devices[SETTINGS.cluster.gpu].memory_gb,
        },
    script:
        "../workflow_scripts/steps/plan.py"


rule costs:
    """Tabulate the time and peak memory of the finished jobs, beside the memory that they requested."""
    log:
        "logs/costs.log",
    localrule: True
    conda:
        "../envs/planning.yaml"
    script:
        "../workflow_scripts/steps/costs.py"


rule check_cluster:
    """Check that Slurm accepts the jobs' resource requests (with --profile slurm); submits nothing."""
    log:
        "logs/check_cluster.log",
    localrule: True
    conda:
        "../envs/planning.yaml"
    params:
        snakefile=str(Path(workflow.basedir, "Snakefile")),
        config=config,
    script:
        "../workflow_scripts/steps/check_cluster.py"
