"""Fetch one model from the Hugging Face hub: weights, config and tokenizer, never code or pickles.

In: the hub, over the network, and the lock file where there is one. Out: the manifest, written
last; its folder holds the files.
"""

from pathlib import Path

from workflow_scripts.core.step import step


def main(
    manifest: Path, *, repository: str, revision: str | None, lock: str, workflow_folder: Path
) -> None:
    from workflow_scripts.hub.fetch import fetch
    from workflow_scripts.hub.lock import read_lock
    from workflow_scripts.settings.names import find_file

    commit = read_lock(find_file(lock, workflow_folder) or Path(lock)).get(("model", repository))
    fetch("model", repository, revision, manifest.parent, commit)


if "snakemake" in globals():
    with step(snakemake, network=True):
        main(
            Path(snakemake.output.manifest),
            repository=snakemake.params.repository,
            revision=snakemake.params.revision,
            lock=snakemake.params.lock,
            workflow_folder=Path(snakemake.scriptdir).parents[1],
        )
