"""Fetch a model or a dataset from the Hugging Face hub: its data files, never code or pickles.

In: the hub, over the network, and the lock file where its commits count. Out: the manifest, written last; its
folder holds the files.
"""

from pathlib import Path
from typing import Literal

from workflow_scripts.bridge.step import step


def main(
    kind: Literal["model", "dataset"],
    repository: str,
    revision: str | None,
    manifest: Path,
    lock: str | None,
    workflow: Path,
) -> None:
    from workflow_scripts.hub.fetch import fetch_locked

    fetch_locked(kind, repository, revision, manifest, lock, workflow)


if "snakemake" in globals():
    with step(snakemake, network=True):
        main(
            snakemake.params.kind,
            snakemake.params.repository,
            snakemake.params.revision,
            Path(snakemake.output.manifest),
            snakemake.params.lock,
            Path(snakemake.scriptdir).parents[1],
        )
