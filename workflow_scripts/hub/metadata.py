"""What is fetched of a model that was submitted, before anything is decided: all but its weights.

    <hub>/submitted/<organisation>/<name>@<commit or default>/metadata.json

The file list is the hub's, so that a check without a network sees what the repository holds.
"""

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from workflow_scripts.core.broken import note_of
from workflow_scripts.core.clean_text import shortened
from workflow_scripts.core.errors import Unreachable, UserError
from workflow_scripts.core.files import write_json
from workflow_scripts.hub.download import download_small
from workflow_scripts.hub.network_errors import in_plain_words
from workflow_scripts.hub.remote import read_listing
from workflow_scripts.settings.requests import MOST_SMALL_BYTES, MOST_SMALL_FILES

METADATA = "metadata.json"
_LARGEST = 50_000_000  # bytes; tokenizers of a quarter of a million tokens take 35


class Metadata(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    repository: str
    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    licence: str | None = Field(description="As its card says, or null where it says nothing")
    files: dict[str, int] = Field(description="Every file of the repository and its size")


def fetch_metadata(repository: str, revision: str | None, folder: Path) -> None:
    """Everything that fetch would bring but weights, and the list of all files, written last."""
    with in_plain_words("model", repository, revision, folder, by="the rule fetch_metadata"):
        listing = read_listing("model", repository, revision)
        sizes = {
            file.path: file.size
            for file in listing.files
            if file.size <= _LARGEST and not file.path.endswith(".safetensors")
        }
        if len(sizes) > MOST_SMALL_FILES or sum(sizes.values()) > MOST_SMALL_BYTES:
            raise UserError(
                f"{repository} has {len(sizes):,} small files of {sum(sizes.values()):,} bytes; expected at"
                f" most {MOST_SMALL_FILES:,} of {MOST_SMALL_BYTES:,}. Nothing was fetched."
            )
        folder.mkdir(parents=True, exist_ok=True)
        small = set(sizes)
        download_small(repository, listing, folder, small)
    found = Metadata(
        repository=repository, commit=listing.commit, licence=listing.licence, files=listing.sizes
    )
    write_json(folder / METADATA, found.model_dump(mode="json"))


def refuse(metadata: Path, error: UserError, log: Path) -> None:
    """Write in place of the metadata why they cannot be had, so that one submission stops no other.

    As with a broken cell, the next run tries again.
    """
    reason = shortened(str(error))
    about: dict[str, Any] = {"record": str(metadata), "reason": reason, "log": str(log)}
    if isinstance(error, Unreachable):
        about["unreachable"] = True
    write_json(metadata, {"broken": about})
    write_json(note_of(metadata), about)


def read_metadata(path: Path) -> Metadata:
    found = json.loads(path.read_text(encoding="utf-8"))
    if set(found) == {"broken"}:
        about = found["broken"]
        raise (Unreachable if about.get("unreachable") else UserError)(about["reason"])
    return Metadata.model_validate(found)
