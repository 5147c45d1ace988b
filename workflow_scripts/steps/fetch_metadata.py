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
    commit: str | None,
    metadata: Path,
    log: Path,
    revision: str | None,
    lock: str | None,
) -> None:
    from workflow_scripts.hub.lock import find_locked_commit
    from workflow_scripts.hub.metadata import fetch_metadata, refuse

    if commit == "default":
        commit = find_locked_commit(lock, "model", repository) or revision
    try:
        fetch_metadata(repository, commit, metadata.parent)
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
