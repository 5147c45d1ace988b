"""Wrap the undocumented features of Snakemake that the package uses; test_snakemake_contract.py tests each.

A new version of Snakemake can break only this file. Each docstring says what is lost without its function.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any


def is_main_process(workflow) -> bool:
    """Return whether this is the Snakemake process that the user started, not one inside a job.

    Without it, Slurm jobs would look up models on the hub, and retry their work within one job's limits.
    """
    return workflow.is_main_process


def get_config_files(workflow) -> list[Path]:
    """Return the config files of the command line and of the Snakefile.

    Without it, a duplicate key in a config file is not detected.
    """
    return [Path(path) for path in workflow.configfiles]


def get_default_resource(workflow, name: str) -> Any:
    """Return the text of one of the profile's default resources, or None.

    Without it, gpu_request must move from the profile to the config.
    """
    defaults = workflow.resource_settings.default_resources or {}
    return defaults[name].raw if name in defaults else None


def get_executor(workflow) -> str:
    """Return the name of the executor, which is set when the run starts.

    Without it, `--profile slurm` on a machine without Slurm fails job by job instead of in one sentence.
    """
    return workflow.executor_plugin.name


def list_needed_environments(workflow) -> set[str]:
    """Return the names of the conda environments of all jobs that this run needs; known when it starts.

    Without it, a run that makes only tables waits 7 s for the import of PyTorch and the harnesses.
    """
    return {Path(str(job.rule.conda_env)).stem for job in workflow.dag.needrun_jobs()}


def replace_script_start(make_start: Callable[[Callable], Callable]) -> None:
    """Replace Snakemake's function that starts a Python script by `make_start(function)`.

    Without it, each short local job imports its libraries anew and takes 6 s instead of 0.5 s.
    """
    from snakemake import script

    kind = script.PythonScript
    kind.execute_script = make_start(kind.execute_script)
