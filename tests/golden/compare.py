"""Compare two folders of CSV tables, without importing the package, so that refactoring cannot break it."""

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TOLERANCE = 1e-6  # relative and absolute
# Columns with hashes of a checkpoint's files, including config.json; the numbers show changes of weights.
HASHES = {"commit"}
ABSENT = "absent"


@dataclass(frozen=True)
class Difference:
    """A cell that was changed, added or removed."""

    table: str
    row: str
    column: str
    before: str
    after: str

    def __str__(self) -> str:
        values = f"{self.before or 'empty'} -> {self.after or 'empty'}"
        return f"{self.table} [{self.row}] {self.column}: {values}"

    def is_intended(self, moved: Mapping[str, str]) -> bool:
        return self.table in moved or f"{self.table}.{self.column}" in moved


def compare_folders(before: Path, after: Path, keys: dict[str, list[str]]) -> list[Difference]:
    """List every difference between the tables of two folders; `keys` has the key columns of each table."""
    differences = []
    for table, columns in keys.items():
        old, new = (_read_cells(folder / f"{table}.csv", columns) for folder in (before, after))
        for row, column in old | new:
            values = [cells.get((row, column), ABSENT) for cells in (old, new)]
            if not _is_close(*values):
                differences.append(Difference(table, row, column, *values))
    return differences


def _read_cells(path: Path, keys: list[str]) -> dict[tuple[str, str], str]:
    """Read the cells of a table, keyed by row and column; a missing table has no cells."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = [", ".join(round_cell(row.pop(key)) for key in keys) for row in rows]
    if len(set(names)) < len(names):
        raise ValueError(f"{path.stem} has two rows of one name; expected more key columns.")
    return {
        (name, column): cell
        for name, row in zip(names, rows, strict=True)
        for column, cell in row.items()
        if column not in HASHES
    }


def _is_close(before: str, after: str) -> bool:
    if before == after:
        return True
    try:
        return math.isclose(float(before), float(after), rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    except ValueError:
        return False


def round_cell(cell: str) -> str:
    """Round a number to nine digits, far more than the tolerance needs; return text unchanged."""
    try:
        return f"{float(cell):.9g}" if "." in cell or "e" in cell else cell
    except ValueError:
        return cell
