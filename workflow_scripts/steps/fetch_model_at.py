"""Fetch one commit of a model, beside the one that other studies use.

In: the network. Out: its manifest, written after the model.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(repository: str, commit: str, manifest: Path) -> None:
    from workflow_scripts.hub.fetch import fetch

    fetch("model", repository, commit, manifest.parent)


if "snakemake" in globals():
    with step(snakemake, network=True):
        wanted = snakemake.wildcards
        main(f"{wanted.org}/{wanted.name}", wanted.commit, Path(snakemake.output.manifest))
