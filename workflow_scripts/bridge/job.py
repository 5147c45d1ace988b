"""Run the main function of a script as a Snakemake job."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workflow_scripts.bridge.step import step


def run_job(main: Callable[..., None], job: Any, *, network: bool = False) -> None:
    """Call `main` with what it names of a job: inputs, outputs, wildcards, params, `params.arguments`, log, resources.

    Inputs and outputs arrive as a Path, or as a list of them where a name stands for several files; they go before
    a wildcard of the same name. The log, the
    compute threads, offline mode and errors are those of every job.
    """
    arguments = {
        **dict(job.wildcards.items()),
        "log": Path(job.log[0]),
        "resources": dict(getattr(job, "resources", {}).items()),
        **{name: convert_paths(files) for name, files in job.input.items()},
        **{name: convert_paths(files) for name, files in job.output.items()},
        **dict(job.params.items()),
        **getattr(job.params, "arguments", {}),
    }
    accepted = inspect.signature(main).parameters
    with step(job, network=network):
        main(**{name: value for name, value in arguments.items() if name in accepted})


def convert_paths(files: Any) -> Path | list[Path]:
    """Convert what Snakemake holds under a name: one path, or a list of paths."""
    return Path(files) if isinstance(files, str) else [Path(file) for file in files]
