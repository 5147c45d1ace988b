"""The manifest of one model or dataset in the hub folder, written after everything it lists.

    <hub>/models/<organisation>/<name>/manifest.json
    <hub>/datasets/<organisation>/<name>/manifest.json

Its presence means that the folder is complete; jobs depend on it and on nothing else, so touching a
large file reruns nothing and a new commit reruns everything that used the old one.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, NonNegativeInt, field_validator

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import (
    describe_alteration,
    hash_file,
    hash_json,
    is_outside_folder,
    write_json,
)
from workflow_scripts.core.ids import LOCAL
from workflow_scripts.core.model_files import count_header_parameters, is_plain, read_json_object
from workflow_scripts.core.records import Sha256, StrictModel, name_file_in_errors
from workflow_scripts.settings.served import Served

MANIFEST = "manifest.json"


class HubFile(StrictModel):
    """A file, relative to the manifest, with forward slashes."""

    path: str
    size: NonNegativeInt
    sha256: Sha256

    @field_validator("path")
    @classmethod
    def _refuse_escaping_path(cls, path: str) -> str:
        if is_outside_folder(path):
            raise ValueError(f"{path!r} leads out of the folder; do not trust this manifest")
        return path


class Manifest(StrictModel):
    """What a folder holds, where it is from, and what is known of the model."""

    schema_version: Literal[1] = 1
    kind: Literal["model", "dataset"]
    source: Literal["huggingface", "miniature", "local", "served"]
    repository: str  # hub name, or the id of a checkpoint made from it
    # What the config names, null the default branch; of a checkpoint, its base's commit.
    revision: str | None
    # What that resolved to; where there is no repository a digest of the files.
    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    licence: str | None  # as its card says, or null where it says nothing
    parameters: int | None = None  # stored parameters of a model
    architecture: str | None = None  # of a model, such as Qwen2ForCausalLM
    files: tuple[HubFile, ...]
    served: Served | None = None  # of a model on a server: where that is, and how it is asked

    @property
    def weights_sha256(self) -> str:
        """Digest the files that hold weights, by name and content; of a server, its address."""
        if self.served:
            return hash_json([self.served.endpoint, self.served.name])
        weights = {f.path: f.sha256 for f in self.files if f.path.endswith(".safetensors")}
        return hash_json(weights)


def list_files(folder: Path, only: Collection[str] | None = None) -> tuple[HubFile, ...]:
    """Hash every file below `folder` but hidden ones and the manifest, in a fixed order.

    With `only`, those of these names: what is linked from elsewhere need not be read again.
    """
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    return tuple(
        HubFile(path=name, size=path.stat().st_size, sha256=hash_file(path))
        for name, path in sorted(paths.items(), key=lambda item: item[1])
        if path.is_file() and is_plain(name) and (only is None or name in only)
    )


def seal(
    folder: Path, files: Iterable[HubFile] | None = None, name: str = MANIFEST, **facts: Any
) -> Manifest:
    """Write the manifest; where no commit is among the facts, a digest of the files stands for one."""
    files = list_files(folder) if files is None else tuple(files)
    facts = {"commit": hash_json([file.model_dump() for file in files])[:40]} | facts
    manifest = Manifest(files=files, **facts)
    without = None if manifest.served else {"served"}
    write_json(folder / name, manifest.model_dump(mode="json", exclude=without))
    return manifest


def read_manifest(path: Path) -> Manifest:
    """Read a manifest strictly."""
    with name_file_in_errors(path):
        return Manifest.model_validate_json(path.read_text(encoding="utf-8"))


def require_unchanged(folder: Path, manifest: Manifest) -> None:
    """Raise for each file that is missing or of another size: quick enough for every job.

    Of a folder on this machine also for one that is newer than its manifest: the next saving of a
    training, for example, writes into the file that the hub folder links to.
    """
    problems = []
    sealed = (folder / MANIFEST).stat().st_mtime_ns
    for file in manifest.files:
        path = folder / file.path
        if not path.is_file():
            problems.append(f"{path} is missing.")
        elif path.stat().st_size != file.size:
            problems.append(f"{path} has {path.stat().st_size} bytes; expected {file.size}.")
        elif manifest.source == LOCAL and path.stat().st_mtime_ns > sealed:
            problems.append(
                f"{path} was written again after it was taken from its folder; start Snakemake again, which"
                " takes it anew."
            )
    if problems:
        raise UserError(problems)


def verify(folder: Path, manifest: Manifest) -> list[str]:
    """Describe each file that is missing or differs from the manifest: reads everything."""
    return list(
        filter(None, (describe_alteration(folder / f.path, f.sha256) for f in manifest.files))
    )


def read_model_metadata(folder: Path) -> dict[str, Any]:
    """Read what a model's own files say of it: the hub counts weights that may not have been fetched."""
    config = read_json_object(folder / "config.json")
    return {
        "parameters": sum(map(count_header_parameters, folder.glob("*.safetensors"))),
        "architecture": (config.get("architectures") or [None])[0],
    }


def get_hub_folder(manifest_path: Path) -> Path:
    """Get the hub folder that a manifest lies in."""
    return manifest_path.parents[3]
