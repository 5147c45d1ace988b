"""Compare two folders of CSV tables. Imports nothing of the workflow, so that it outlives every rebuilding."""

import csv
import math
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

import yaml

TOLERANCE = 1e-6  # relative and absolute
HASHES = {
    "commit"
}  # of a checkpoint's files, config.json too; what its weights do shows in the numbers
PRESENT, ABSENT = "present", "absent"

Row = dict[str, str]


@dataclass(frozen=True)
class Renames:
    """Names that changed, each old name with its new one, and what moved on purpose, with the reason."""

    tables: dict[str, str] = field(default_factory=dict)
    columns: dict[str, dict[str, str]] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "Renames":
        return cls(**yaml.safe_load(path.read_text(encoding="utf-8")))

    def rename_columns(self, table: str, row: Row) -> Row:
        names = self.columns.get("*", {}) | self.columns.get(table, {})
        return {names.get(column, column): cell for column, cell in row.items()}

    def restore_table(self, table: str) -> str:
        """Return the old name of a table."""
        old_names = {new: old for old, new in self.tables.items()}
        return old_names.get(table, table)

    def restore_config(self, config: dict) -> dict:
        """Return the config with the old names of its keys, written with dots between sections."""
        restored = deepcopy(config)
        values = {}
        for old, new in self.keys.items():
            *sections, key = new.split(".")
            section = restored
            for name in sections:
                section = section.get(name, {})
            if key in section:
                values[old] = section.pop(key)
        for old, value in values.items():
            *sections, key = old.split(".")
            section = restored
            for name in sections:
                section = section.setdefault(name, {})
            section[key] = value
        return restored


@dataclass(frozen=True)
class Difference:
    """A cell that moved; without a column a row, and without a row a table, that came or went."""

    table: str
    row: str
    column: str
    before: str
    after: str

    def __str__(self) -> str:
        place = " ".join(part for part in (self.table, self.row, self.column) if part)
        return f"{place}: {self.before or 'empty'} -> {self.after or 'empty'}{self._change()}"

    def _change(self) -> str:
        try:
            return f" ({float(self.after) - float(self.before):+.6g})"
        except ValueError:
            return ""

    def is_intended(self, moved: dict[str, str]) -> bool:
        return self.table in moved or f"{self.table}.{self.column}" in moved


def compare_folders(
    before: Path, after: Path, keys: dict[str, list[str]], renames: Renames
) -> list[Difference]:
    """List every difference between the tables of two folders; `keys` has the key columns of each table."""
    old_tables = {renames.tables.get(path.stem, path.stem): path for path in before.glob("*.csv")}
    new_tables = {path.stem: path for path in after.glob("*.csv")}
    differences = []
    for table in sorted({*keys, *old_tables, *new_tables}):
        if table not in old_tables or table not in new_tables:
            differences.append(
                _compare_presence(table, "", "", table in old_tables, table in new_tables)
            )
            continue
        old_rows = [renames.rename_columns(table, row) for row in _read(old_tables[table])]
        new_rows = _read(new_tables[table])
        differences += _compare_rows(table, old_rows, new_rows, keys[table])
    return differences


def _read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        return [{key: cell for key, cell in row.items() if key not in HASHES} for row in rows]


def _compare_rows(
    table: str, before: list[Row], after: list[Row], keys: list[str]
) -> list[Difference]:
    old_columns = list(before[0]) if before else []
    new_columns = list(after[0]) if after else []
    differences = []
    for column in dict.fromkeys([*old_columns, *new_columns]):
        if before and after and (column in old_columns) != (column in new_columns):
            differences.append(
                _compare_presence(table, "", column, column in old_columns, column in new_columns)
            )
    columns = [column for column in old_columns if column in new_columns and column not in keys]
    old_rows = _index_rows(table, before, keys)
    new_rows = _index_rows(table, after, keys)
    for key in dict.fromkeys([*old_rows, *new_rows]):
        row = f"[{', '.join(key)}]"
        if key not in old_rows or key not in new_rows:
            differences.append(_compare_presence(table, row, "", key in old_rows, key in new_rows))
            continue
        for column in columns:
            old, new = old_rows[key][column], new_rows[key][column]
            if not _is_close(old, new):
                differences.append(Difference(table, row, column, old, new))
    return differences


def _compare_presence(table: str, row: str, column: str, before: bool, after: bool) -> Difference:
    states = [PRESENT if state else ABSENT for state in (before, after)]
    return Difference(table, row, column, *states)


def _index_rows(table: str, rows: list[Row], keys: list[str]) -> dict[tuple[str, ...], Row]:
    """Return the rows by the cells of their key columns."""
    indexed: dict[tuple[str, ...], Row] = {}
    for row in rows:
        missing = [key for key in keys if key not in row]
        if missing:
            raise ValueError(f"{table} has no column {missing[0]}, a key column in tables.yaml.")
        key = tuple(round_cell(row[column]) for column in keys)
        if key in indexed:
            raise ValueError(
                f"{table} has two rows {key}; expected key columns that tell them apart."
            )
        indexed[key] = row
    return indexed


def _is_close(before: str, after: str) -> bool:
    if before == after:
        return True
    try:
        return math.isclose(float(before), float(after), rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    except ValueError:
        return False


def round_cell(cell: str) -> str:
    """Round a number to nine digits, far more than the tolerance needs; leave text as it is."""
    try:
        return f"{float(cell):.9g}" if "." in cell or "e" in cell else cell
    except ValueError:
        return cell
