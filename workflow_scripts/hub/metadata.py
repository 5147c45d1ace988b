"""What is fetched of a model that was submitted, before anything is decided: all but its weights.

    <hub>/submitted/<organisation>/<name>@<commit or default>/metadata.json

The file list is the hub's, so that a check without a network sees what the repository holds.
"""

import json
from pathlib import Path
from typing import Any

from pydantic import Field

from workflow_scripts.core.clean_text import shorten_text
from workflow_scripts.core.errors import Unreachable, UserError
from workflow_scripts.core.failed_cells import get_note_path
from workflow_scripts.core.files import write_json
from workflow_scripts.core.records import StrictModel
from workflow_scripts.hub.hub_api import download, read_listing, translate_errors
from workflow_scripts.settings.leaderboard_submissions import MOST_SMALL_BYTES, MOST_SMALL_FILES

METADATA = "metadata.json"
_MAX_BYTES = 50_000_000  # bytes; tokenizers of a quarter of a million tokens take 35


class Metadata(StrictModel):
    """What the hub says of a repository."""

    repository: str
    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    licence: str | None  # as its card says, or null where it says nothing
    files: dict[str, int]  # every file of the repository and its size


def fetch_metadata(repository: str, revision: str | None, folder: Path) -> None:
    """Fetch what `fetch` would but weights and large files; write the list of all files last."""
    with translate_errors("model", repository):
        listing = read_listing("model", repository, revision)
        small = {
            path: size
            for path, size in listing.sizes.items()
            if path in listing.files and size <= _MAX_BYTES and not path.endswith(".safetensors")
        }
        if len(small) > MOST_SMALL_FILES or sum(small.values()) > MOST_SMALL_BYTES:
            raise UserError(
                f"{repository} has {len(small):,} small files of {sum(small.values()):,} bytes; expected at"
                f" most {MOST_SMALL_FILES:,} of {MOST_SMALL_BYTES:,}."
            )
        download("model", repository, listing, small, folder)
    metadata = Metadata(
        repository=repository, commit=listing.commit, licence=listing.licence, files=listing.sizes
    )
    write_json(folder / METADATA, metadata.model_dump(mode="json"))


def refuse(metadata: Path, error: UserError, log: Path) -> None:
    """Write in place of the metadata why they cannot be had, so that one submission stops no other.

    As with a broken cell, the next run tries again.
    """
    note: dict[str, Any] = {
        "record": str(metadata),
        "reason": shorten_text(str(error)),
        "log": str(log),
    }
    if isinstance(error, Unreachable):
        note["unreachable"] = True
    write_json(metadata, {"broken": note})
    write_json(get_note_path(metadata), note)


def read_metadata(path: Path) -> Metadata:
    """Read what was fetched; raise why it cannot be had where that stands in its place."""
    fields = json.loads(path.read_text(encoding="utf-8"))
    if note := fields.get("broken"):
        raise (Unreachable if "unreachable" in note else UserError)(note["reason"])
    return Metadata.model_validate(fields)
