"""Write and read the manifest of a model or dataset in the hub folder, written after all files that it lists.

    <hub>/models/<organisation>/<name>/manifest.json
    <hub>/datasets/<organisation>/<name>/manifest.json

Its presence means that the folder is complete. Jobs depend on the manifest alone, so touching a
large file reruns nothing, and a new commit reruns every job that used the old one.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, NonNegativeInt

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import (
    describe_alteration,
    hash_file,
    hash_json,
    write_json,
)
from workflow_scripts.core.ids import LOCAL
from workflow_scripts.core.model_files import (
    MANIFEST,
    count_header_parameters,
    is_content_file,
    read_json_object,
)
from workflow_scripts.core.records import Sha256, StrictModel, name_file_in_errors
from workflow_scripts.settings.served import Served


class HubFile(StrictModel):
    """A file; its path is relative to the manifest, with forward slashes."""

    path: str
    size: NonNegativeInt
    sha256: Sha256


class Manifest(StrictModel):
    """The files of a folder, their source, and the model's metadata."""

    schema_version: Literal[1] = 1
    kind: Literal["model", "dataset"]
    source: Literal["huggingface", "miniature", "local", "served"]
    repository: str  # hub name, or the id of a checkpoint built from it
    # Revision in the config (null is the default branch); for a checkpoint, its base's commit.
    revision: str | None
    # Commit that the revision resolved to; without a repository, a digest of the files.
    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    licence: str | None  # from the card; null if the card has none
    parameters: int | None = None  # number of stored parameters of a model
    architecture: str | None = None  # class of a model, such as Qwen2ForCausalLM
    files: tuple[HubFile, ...]
    # Endpoint and API of a model on a server.
    served: Served | None = Field(None, exclude_if=lambda served: served is None)

    @property
    def weights_sha256(self) -> str:
        """Hash the names and contents of the weight files; for a served model, its endpoint and name."""
        if self.served:
            return hash_json([self.served.endpoint, self.served.name])
        weights = {f.path: f.sha256 for f in self.files if f.path.endswith(".safetensors")}
        return hash_json(weights)


def list_file_names(folder: Path) -> list[str]:
    """List every file below `folder` except hidden ones and the manifest, in a fixed order."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    names = [path.relative_to(folder).as_posix() for path in files]
    return [name for name in names if is_content_file(name)]


def hash_files(folder: Path, names: Iterable[str] | None = None) -> tuple[HubFile, ...]:
    """Hash the files of these names, or all of `list_file_names`."""
    return tuple(
        HubFile(path=name, size=(folder / name).stat().st_size, sha256=hash_file(folder / name))
        for name in names or list_file_names(folder)
    )


def write_manifest(
    folder: Path, files: Iterable[HubFile] | None = None, name: str = MANIFEST, **fields: Any
) -> Manifest:
    """Write the manifest and return it; `files` are by default all in the folder.

    If `fields` has no commit, a digest of the files replaces it.
    """
    files = hash_files(folder) if files is None else tuple(files)
    digest = hash_json([file.model_dump() for file in files])
    manifest = Manifest(files=files, **{"commit": digest[:40]} | fields)
    write_json(folder / name, manifest.model_dump(mode="json"))
    return manifest


def read_manifest(path: Path) -> Manifest:
    """Read and validate a manifest."""
    with name_file_in_errors(path):
        return Manifest.model_validate_json(path.read_text(encoding="utf-8"))


def require_unchanged(folder: Path, manifest: Manifest) -> None:
    """Raise UserError if a file is missing or has another size; fast enough to run in every job.

    Files of a local folder must not be newer than the manifest: for example, the next save of a
    training run writes into a file that the hub folder links to.
    """
    written = (folder / MANIFEST).stat().st_mtime_ns
    for file in manifest.files:
        path = folder / file.path
        if not path.is_file() or path.stat().st_size != file.size:
            raise UserError(
                f"{path} is missing or does not have the {file.size} bytes of its manifest."
            )
        if manifest.source == LOCAL and path.stat().st_mtime_ns > written:
            raise UserError(
                f"{path} was written again after it was imported from its folder; start Snakemake again to"
                " import it again."
            )


def describe_damage(folder: Path, manifest: Manifest) -> list[str]:
    """Describe each file that is missing or has another checksum than in the manifest; this reads all files."""
    problems = (describe_alteration(folder / file.path, file.sha256) for file in manifest.files)
    return [problem for problem in problems if problem]


def read_model_metadata(folder: Path) -> dict[str, Any]:
    """Read the fields parameters and architecture from a model's files.

    The hub's number of parameters also counts weights that are not fetched.
    """
    config = read_json_object(folder / "config.json")
    return {
        "parameters": sum(map(count_header_parameters, folder.glob("*.safetensors"))),
        "architecture": (config.get("architectures") or [None])[0],
    }


def get_hub_folder(manifests: Sequence[Path]) -> Path:
    """Return the hub folder that contains these manifests."""
    return manifests[0].parents[3]
