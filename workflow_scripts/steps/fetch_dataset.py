"""Fetch one dataset from the Hugging Face hub: its data files, never code or pickles.

In: the hub, over the network. Out: the manifest, written last; its folder holds the files.
"""

from pathlib import Path

from workflow_scripts.core.step import step


def main(manifest: Path, *, repository: str, revision: str | None, commit: str | None) -> None:
    from workflow_scripts.hub.fetch import fetch

    fetch("dataset", repository, revision, manifest.parent, commit)


if "snakemake" in globals():
    with step(snakemake, network=True):
        main(
            Path(snakemake.output.manifest),
            repository=snakemake.params.repository,
            revision=snakemake.params.revision,
            commit=snakemake.params.commit,
        )
