"""Cells that failed: a note each in results/broken, and a record that says so in place of its own.

Standard library alone: the Snakefile reads these notes.
"""

from pathlib import Path
from typing import Any

from workflow_scripts.core.files import read_json

FOLDER = Path("results/broken")


def list_failed_cells() -> list[dict[str, Any]]:
    """Read record, reason and log of each."""
    notes = map(read_json, sorted(FOLDER.glob("*.json")))
    return [note for note in notes if note]  # else being written, or half removed


def clear_failed_cells() -> None:
    """Remove what stands in their place, so that they are tried again."""
    for path in sorted(FOLDER.glob("*.json")):
        record = Path((read_json(path) or {}).get("record", path))
        if is_failed_record(record):
            record.with_suffix(".parquet").unlink(missing_ok=True)
            record.unlink(missing_ok=True)
        path.unlink(missing_ok=True)


def is_failed_record(record: Path) -> bool:
    return list(read_json(record) or ()) == ["broken"]


def get_note_path(record: Path) -> Path:
    return FOLDER / f"{'--'.join(record.with_suffix('').parts[-4:])}.json"
