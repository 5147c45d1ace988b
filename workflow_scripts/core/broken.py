"""Cells that failed: a note each in results/broken, and a record that says so in place of its own.

Standard library alone: the Snakefile reads these notes.
"""

import json
from pathlib import Path
from typing import Any

FOLDER = Path("results/broken")


def broken_cells() -> list[dict[str, Any]]:
    """Record, reason and log of each."""
    found = []
    for note in sorted(FOLDER.glob("*.json")):
        try:
            found.append(json.loads(note.read_text(encoding="utf-8")))
        except (OSError, ValueError):  # being written, or half removed
            continue
    return found


def clear_broken_cells() -> None:
    """Remove what stands in their place, so that they are tried again."""
    for note in sorted(FOLDER.glob("*.json")):
        try:
            record = Path(json.loads(note.read_text(encoding="utf-8"))["record"])
        except (OSError, ValueError, KeyError):
            note.unlink(missing_ok=True)
            continue
        if is_broken(record):
            record.with_suffix(".parquet").unlink(missing_ok=True)
            record.unlink(missing_ok=True)
        note.unlink(missing_ok=True)


def is_broken(record: Path) -> bool:
    try:
        return list(json.loads(record.read_text(encoding="utf-8"))) == ["broken"]
    except (OSError, ValueError):
        return False


def note_of(record: Path) -> Path:
    return FOLDER / f"{'--'.join(record.with_suffix('').parts[-4:])}.json"
