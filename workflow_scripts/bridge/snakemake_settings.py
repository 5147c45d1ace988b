"""What the command line and the profile said, and which jobs are needed, as Snakemake's workflow object keeps it.

Snakemake documents none of these attributes; each is read here and nowhere else.
"""

from pathlib import Path
from typing import Any


def is_main_process(workflow) -> bool:
    """Whether this is the Snakemake that was typed, not the one inside a job."""
    return workflow.is_main_process


def is_dry_run(workflow) -> bool:
    """`workflow.dryrun` would be a name for it, but is not known while rules are parsed."""
    return workflow.output_settings.dryrun


def targets_of(workflow) -> list[str]:
    """What was asked for by name, sorted; nothing stands for the default target."""
    return sorted(workflow.dag_settings.targets)


def takes_lock(workflow) -> bool:
    """Whether Snakemake locks the folder, which --nolock forbids."""
    return workflow.execution_settings.lock


def deploys_software(workflow) -> bool:
    """Whether jobs run in environments or containers of their own, as --sdm says."""
    return bool(workflow.deployment_settings.deployment_method)


def runs_jobs_here(workflow) -> bool:
    """Return whether jobs run on this machine, and not on a cluster's nodes."""
    return workflow.executor_plugin.common_settings.local_exec


def list_needed_jobs(workflow) -> list[Any]:
    """List the jobs whose outputs are missing or out of date; known when the run starts."""
    return list(workflow.dag.needrun_jobs())


def config_files(workflow) -> list[Path]:
    return [Path(path) for path in workflow.configfiles]


def main_snakefile(workflow) -> str:
    return str(workflow.main_snakefile)


def default_resource(workflow, name: str) -> Any:
    """One of the profile's default resources as it was written; None where it has no such one.

    Snakemake itself takes what was written for an expression, to be evaluated with each job.
    """
    defaults = workflow.resource_settings.default_resources or {}
    return defaults[name].raw if name in defaults else None
