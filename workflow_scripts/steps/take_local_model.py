"""Take a model that is a folder on this machine into the hub folder: safetensors and small files alone.

In: the folder. Out: the manifest, written last; its folder holds the files, as links where the disk can
link.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(folder: Path, repository: str, manifest: Path) -> None:
    from workflow_scripts.hub.local import take_folder

    take_folder(folder, repository, manifest.parent)


if "snakemake" in globals():
    with step(snakemake):
        from workflow_scripts.core.ids import LOCAL

        main(
            Path(snakemake.params.folder),
            f"{LOCAL}/{snakemake.wildcards.name}",
            Path(snakemake.output.manifest),
        )
