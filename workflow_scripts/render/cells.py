"""From the tables in results/tables to what a board holds: plain values, and None where there is none."""

import math
from pathlib import Path

import pandas as pd

from workflow_scripts.render.web.board import Value

Cells = dict[str, Value]


def read_cells(csv: Path) -> list[Cells]:
    """The rows of a table; whole numbers are int, though a missing one beside them made them float."""
    rows = pd.read_csv(csv).astype(object).to_dict("records")
    return [{str(name): _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: object) -> Value:
    if value is None or value is pd.NA:
        return None
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() else value
    return value if isinstance(value, str | int | bool) else str(value)


def checkpoint_of(row: Cells) -> str:
    return f"{row['model']}{row['variant'] or ''}"
