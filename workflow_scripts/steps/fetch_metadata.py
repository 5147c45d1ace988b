"""Fetch what a submitted model is checked by: its file list, card, configuration and tokenizer.

In: the network. Out: the metadata, or in their place why they cannot be had, whatever is wrong with them.
"""

import traceback
from pathlib import Path

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.hardware_errors import describe_hardware_error


def main(
    repository: str,
    commit: str,
    metadata: Path,
    log: Path,
    *,
    revision: str | None,
    lock: str | Path,
) -> None:
    from workflow_scripts.hub.lock import read_lock
    from workflow_scripts.hub.metadata import fetch_metadata, refuse

    locked = read_lock(Path(lock)).get(("model", repository))
    target = (locked or revision) if commit == "default" else commit
    try:
        fetch_metadata(repository, target, metadata.parent)
    except Exception as error:
        if describe_hardware_error(error):
            raise
        if not isinstance(error, UserError):
            print(traceback.format_exc())
            error = UserError(
                f"what the hub has of {repository} cannot be taken ({type(error).__name__}: {error})."
            )
        print(error)
        refuse(metadata, error, log)


if "snakemake" in globals():
    run_job(main, snakemake, network=True)
