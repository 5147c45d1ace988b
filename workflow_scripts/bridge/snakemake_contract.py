"""The places that use what Snakemake does not document; test_snakemake_contract.py has a test of each.

A new version of Snakemake can break this file alone. Each docstring says what goes without its function.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any


def is_main_process(workflow) -> bool:
    """Return whether this is the Snakemake that was typed, not the one inside a job.

    Without it, jobs of Slurm would look models up on the hub, and try themselves again within their own limits.
    """
    return workflow.is_main_process


def get_config_files(workflow) -> list[Path]:
    """Return the config files of the command line and of the Snakefile.

    Without it, a key that occurs twice in one of them is not noticed.
    """
    return [Path(path) for path in workflow.configfiles]


def get_default_resource(workflow, name: str) -> Any:
    """Return one of the profile's default resources as it was written, or None.

    Without it, gpu_request moves from the profile to the config.
    """
    defaults = workflow.resource_settings.default_resources or {}
    return defaults[name].raw if name in defaults else None


def get_executor(workflow) -> str:
    """Return the name of the executor; known when the run starts.

    Without it, `--profile slurm` on a machine without Slurm fails job by job instead of in one sentence.
    """
    return workflow.executor_plugin.name


def replace_script_start(make_start: Callable[[Callable], Callable]) -> None:
    """Replace how Snakemake starts a Python script, by what `make_start` makes of its own way.

    Without it, each short local job imports its libraries anew, six seconds instead of half a one.
    """
    from snakemake import script

    kind = script.PythonScript
    kind.execute_script = make_start(kind.execute_script)
