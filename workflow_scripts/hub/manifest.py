"""The manifest of one model or dataset in the hub folder, written after everything it lists.

    <hub>/models/<organisation>/<name>/manifest.json
    <hub>/datasets/<organisation>/<name>/manifest.json

Its presence means that the folder is complete; jobs depend on it and on nothing else, so touching a
large file reruns nothing and a new commit reruns everything that used the old one.
"""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import leaves_its_folder, sha256_file, sha256_json, write_json
from workflow_scripts.core.model_files import parameters_of

MANIFEST = "manifest.json"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class HubFile(_Strict):
    path: str = Field(description="Relative to the manifest, with forward slashes")
    size: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")

    @field_validator("path")
    @classmethod
    def _stays_in_its_folder(cls, path: str) -> str:
        if leaves_its_folder(path):
            raise ValueError(f"{path!r} leads out of the folder; do not trust this manifest")
        return path


class ServedFacts(_Strict):
    """Where a server is, and how it is asked."""

    endpoint: str
    name: str = Field(description="What the server calls the model")
    at_once: int = Field(description="Concurrent requests")


class Manifest(_Strict):
    schema_version: Literal[1] = 1
    kind: Literal["model", "dataset"]
    source: Literal["huggingface", "miniature", "local", "served"]
    repository: str = Field(description="Hub name, or the id of a checkpoint made from it")
    revision: str | None = Field(
        description="What the config names, null the default branch; of a checkpoint, its base's commit"
    )
    commit: str = Field(
        pattern=r"^[0-9a-f]{40}$",
        description="What that resolved to; where there is no repository a digest of the files",
    )
    licence: str | None = Field(description="As its card says, or null where it says nothing")
    parameters: int | None = Field(default=None, description="Models only: stored parameters")
    architecture: str | None = Field(default=None, description="Models only: e.g. Qwen2ForCausalLM")
    files: tuple[HubFile, ...]
    served: ServedFacts | None = Field(default=None, description="Models on a server only")

    @property
    def weights_sha256(self) -> str:
        """One digest over the files that hold weights, by name and content; of a server, over its address."""
        if self.served:
            return sha256_json([self.served.endpoint, self.served.name])
        weights = {f.path: f.sha256 for f in self.files if f.path.endswith(".safetensors")}
        return sha256_json(weights)


def list_files(folder: Path, only: Collection[str] | None = None) -> tuple[HubFile, ...]:
    """Every file below `folder` but hidden ones and the manifest, hashed, in a fixed order.

    With `only`, those of these names: what is linked from elsewhere need not be read again.
    """
    paths = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and path.name != MANIFEST
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and (only is None or path.relative_to(folder).as_posix() in only)
    )
    return tuple(
        HubFile(
            path=path.relative_to(folder).as_posix(),
            size=path.stat().st_size,
            sha256=sha256_file(path),
        )
        for path in paths
    )


def content_commit(files: tuple[HubFile, ...]) -> str:
    """A stand-in for a git commit where there is no repository: it changes with any file."""
    return sha256_json([f.model_dump() for f in files])[:40]


def write_manifest(folder: Path, manifest: Manifest) -> None:
    without = None if manifest.served else {"served"}
    write_json(folder / MANIFEST, manifest.model_dump(mode="json", exclude=without))


def seal(folder: Path, files: tuple[HubFile, ...] | None = None, **facts: Any) -> Manifest:
    """Write the manifest; where no commit is among the facts, a digest of the files stands for one."""
    files = list_files(folder) if files is None else files
    manifest = Manifest(**{"commit": content_commit(files), "files": files} | facts)
    write_manifest(folder, manifest)
    return manifest


def read_manifest(path: Path) -> Manifest:
    """Read a manifest strictly; what is wrong is said with the file and the field."""
    try:
        return Manifest.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise UserError(f"{path} is missing; the rule that fetches it has not run.") from None
    except json.JSONDecodeError as error:
        raise UserError(f"{path} is not JSON ({error}); delete it to have it made again.") from None
    except ValidationError as error:
        raise UserError(
            f"{path}: {'.'.join(map(str, problem['loc'])) or 'manifest'}: {problem['msg']}."
            for problem in error.errors()
        ) from None


def differing_sizes(folder: Path, manifest: Manifest) -> list[str]:
    """One sentence per file that is missing or of another size: quick enough for every job."""
    problems = (_size_problem(folder / file.path, file) for file in manifest.files)
    return [problem for problem in problems if problem]


def verify(folder: Path, manifest: Manifest) -> list[str]:
    """One sentence per file that is missing or differs from the manifest: reads everything."""
    problems = []
    for file in manifest.files:
        path = folder / file.path
        if sentence := _size_problem(path, file):
            problems.append(sentence)
        elif sha256_file(path) != file.sha256:
            problems.append(f"{path} was altered: its sha256 is not the one in the manifest.")
    return problems


def _size_problem(path: Path, file: HubFile) -> str | None:
    if not path.is_file():
        return f"{path} is missing."
    if (size := path.stat().st_size) != file.size:
        return f"{path} has {size} bytes; expected {file.size}."
    return None


def facts_of(folder: Path) -> dict[str, Any]:
    """What a model's own files say of it: the hub counts weights that may not have been fetched."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return {
        "parameters": sum(map(parameters_of, folder.glob("*.safetensors"))),
        "architecture": (config.get("architectures") or [None])[0],
    }


def hub_of(manifest_path: Path) -> Path:
    """The hub folder that a manifest lies in."""
    return manifest_path.parents[3]
