"""Import a local folder as a model of the hub folder; a digest of its files replaces the commit."""

import shutil
from pathlib import Path

from huggingface_hub import ModelCard

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.ids import LOCAL
from workflow_scripts.hub.link_files import link_or_copy
from workflow_scripts.hub.manifest import Manifest, read_model_metadata, write_manifest
from workflow_scripts.settings.model_folders import list_model_files


def import_model_folder(folder: Path, repository: str, target: Path) -> Manifest:
    """Replace `target` by the folder's model files, linked where the disk can link, and write the manifest."""
    files = list_model_files(folder)
    shutil.rmtree(target, ignore_errors=True)
    for file in files:
        link_or_copy(folder / file, target / file)
    return write_manifest(
        target,
        kind="model",
        source="local",
        repository=repository,
        revision=None,
        licence=_read_licence(target / "README.md"),
        **read_model_metadata(target),
    )


def _read_licence(card: Path) -> str | None:
    """Read the licence from a model card's metadata; None if it cannot be read."""
    try:
        licence = ModelCard.load(card).data.license
    except Exception:
        return None
    return licence if isinstance(licence, str) else None


def main(folder: str, name: str, manifest: Path) -> None:
    import_model_folder(Path(folder), f"{LOCAL}/{name}", manifest.parent)


if "snakemake" in globals():
    run_job(main, snakemake)
