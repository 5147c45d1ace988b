"""Fetch a model or a dataset from the Hugging Face hub: its data files, never code or pickles.

In: the hub, over the network, and the lock file where its commits count. Out: the manifest, written last; its
folder holds the files.
"""

from pathlib import Path
from typing import Literal

from workflow_scripts.bridge.job import run_job


def main(
    kind: Literal["model", "dataset"],
    repository: str,
    revision: str | None,
    manifest: Path,
    lock: str | None,
) -> None:
    from workflow_scripts.hub.fetch import fetch
    from workflow_scripts.hub.lock import find_locked_commit

    commit = find_locked_commit(lock, kind, repository)
    fetch(kind, repository, revision, manifest.parent, commit)


if "snakemake" in globals():
    run_job(main, snakemake, network=True)
