"""Fetch a model or a dataset from the Hugging Face hub: its data files, never code or pickles.

In: the hub, over the network, and the lock file where its commits count. Out: the manifest, written last; its
folder holds the files.
"""

from pathlib import Path
from typing import Literal

import workflow_scripts
from workflow_scripts.bridge.job import run_job


def main(
    kind: Literal["model", "dataset"],
    repository: str,
    revision: str | None,
    manifest: Path,
    lock: str | None,
) -> None:
    from workflow_scripts.hub.fetch import fetch
    from workflow_scripts.hub.lock import read_lock
    from workflow_scripts.settings.names import find_file

    workflow_folder = Path(workflow_scripts.__file__).parents[1]
    commits = read_lock(find_file(lock, workflow_folder) or Path(lock)) if lock else {}
    fetch(kind, repository, revision, manifest.parent, commits.get((kind, repository)))


if "snakemake" in globals():
    run_job(main, snakemake, network=True)
