"""Fetch one model from the Hugging Face hub: weights, config and tokenizer, never code or pickles.

In: the hub, over the network, and the lock file where there is one. Out: the manifest, written
last; its folder holds the files.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(manifest: Path, repository: str, revision: str | None, lock: str, workflow: Path) -> None:
    from workflow_scripts.hub.fetch import fetch_locked

    fetch_locked("model", repository, revision, manifest, lock, workflow)


if "snakemake" in globals():
    with step(snakemake, network=True):
        main(
            Path(snakemake.output.manifest),
            snakemake.params.repository,
            snakemake.params.revision,
            snakemake.params.lock,
            Path(snakemake.scriptdir).parents[1],
        )
