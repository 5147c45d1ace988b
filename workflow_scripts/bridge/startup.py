"""Check the config while Snakemake parses the rules, and prepare the run before the first job."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from workflow_scripts.bridge.fork_server import fork_local_jobs
from workflow_scripts.bridge.gpus import share_gpus
from workflow_scripts.bridge.snakemake_contract import (
    get_config_files,
    get_executor,
    is_main_process,
)
from workflow_scripts.core.clean_text import clean_lines
from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.load import load_settings
from workflow_scripts.settings.names import LookUp
from workflow_scripts.settings.settings import Settings
from workflow_scripts.settings.yaml_files import read_yaml

_NO_SLURM = (
    "Jobs cannot be submitted from this machine, because Slurm's sbatch cannot be found on PATH: start on a"
    " login node, or leave out `--profile slurm` to run on this machine."
)


@contextmanager
def exit_on_config_error() -> Iterator[None]:
    """Exit with one sentence for each error in the config.

    Snakemake would add a line of traceback to a WorkflowError.
    """
    try:
        yield
    except UserError as error:
        sys.exit(clean_lines(f"Invalid configuration:\n{error}"))


def load_checked_settings(workflow, config: dict[str, Any], look_up: LookUp) -> Settings:
    """Check the config; the main process looks up models and tasks that no table has, and saves them for the jobs."""
    for path in get_config_files(workflow):
        read_yaml(path)  # Snakemake does not detect duplicate keys
    return load_settings(config, look_up if is_main_process(workflow) else None)


def prepare_jobs(workflow, threads: int) -> None:
    """Prepare to run jobs on this machine; exit if the executor is slurm and sbatch is missing."""
    executor = get_executor(workflow)
    if executor == "slurm" and shutil.which("sbatch") is None:
        sys.exit(_NO_SLURM)
    if executor == "local":
        share_gpus()
        fork_local_jobs(workflow, threads)
