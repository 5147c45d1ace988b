"""Write, list and clear failed cells: each has a note in results/broken and a record that says that it failed.

This module uses the standard library alone, because the Snakefile imports it.
"""

from pathlib import Path
from typing import Any

from workflow_scripts.core.files import read_json, write_json

FOLDER = Path("results/broken")


def list_failed_cells() -> list[dict[str, Any]]:
    """Read the notes of failed cells: record, reason and log."""
    notes = map(read_json, sorted(FOLDER.glob("*.json")))
    return [note for note in notes if note]  # an unreadable note is being written or removed


def clear_failed_cells() -> None:
    """Remove the records and notes of failed cells, so the next run retries the cells."""
    for path in sorted(FOLDER.glob("*.json")):
        note = read_json(path) or {}
        record = Path(note.get("record", path))
        if is_failed_record(record):
            record.with_suffix(".parquet").unlink(missing_ok=True)
            record.unlink(missing_ok=True)
        path.unlink(missing_ok=True)


def is_failed_record(record: Path) -> bool:
    return list(read_json(record) or ()) == ["broken"]


def write_failed_record(record: Path, reason: str, log: Path) -> None:
    """Write the reason in place of the record, and a note of the failed cell, so that the next run retries it."""
    note = {"record": str(record), "reason": reason, "log": str(log)}
    write_json(record, {"broken": note})
    write_json(FOLDER / f"{'--'.join(record.with_suffix('').parts[-4:])}.json", note)
