"""A folder on this machine as a model of the hub folder; a digest of its files stands for a commit."""

import shutil
from pathlib import Path
from typing import Any

import yaml

from workflow_scripts.core.ids import LOCAL
from workflow_scripts.core.named import InputFiles, OutputFiles
from workflow_scripts.hub.link_files import link_or_copy
from workflow_scripts.hub.manifest import MANIFEST, Manifest, facts_of, seal
from workflow_scripts.settings.folders import files_of_folder


def take_local_model(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    """Its files are links where the disk can link; the manifest is written last."""
    take_folder(Path(request["folder"]), request["repository"], outputs["manifest"].parent)


def take_folder(folder: Path, repository: str, target: Path) -> Manifest:
    """Make `target` hold what is taken of the folder, and nothing else."""
    files = files_of_folder(folder)
    shutil.rmtree(target, ignore_errors=True)
    for file in files:
        link_or_copy(folder / file, target / file)
    return seal(
        target,
        kind="model",
        source="local",
        repository=repository,
        revision=None,
        licence=_licence(target / "README.md"),
        **facts_of(target),
    )


def changed_since(folder: Path, manifest: Manifest) -> list[str]:
    """A sentence for each file that is newer than its manifest: who wrote into the folder since, as
    the next saving of a training does, has changed the file that it is linked to.
    """
    if manifest.source != LOCAL:
        return []
    sealed = (folder / MANIFEST).stat().st_mtime_ns
    return [
        f"{folder / file.path} was written again after it was taken from its folder; start Snakemake again,"
        " which takes it anew."
        for file in manifest.files
        if (folder / file.path).stat().st_mtime_ns > sealed
    ]


def _licence(card: Path) -> str | None:
    """As the head of the card says."""
    if not card.is_file():
        return None
    _, _, head = card.read_text(encoding="utf-8", errors="replace").partition("---\n")
    try:
        said = yaml.safe_load(head.partition("\n---")[0])
    except yaml.YAMLError:
        return None
    licence = said.get("license") if isinstance(said, dict) else None
    return licence if isinstance(licence, str) else None
