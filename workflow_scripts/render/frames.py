"""Convert data frames to plain rows for web pages."""

import math
from typing import Any

import pandas as pd

# A row of a page: plain Python values, None for missing ones.
Cells = dict[str, Any]


def cells(frame: pd.DataFrame) -> list[Cells]:
    """Return the rows as plain values; whole numbers are int, even if a missing one made the column float."""
    return [{name: plain(value) for name, value in row.items()} for row in frame.to_dict("records")]


def index_checkpoints(table: pd.DataFrame | None, key: str) -> dict[tuple, Cells]:
    """Return the rows by checkpoint and the column `key`; nothing if there is no table."""
    rows = [] if table is None else cells(table)
    return {(f"{row['model']}{row['variant'] or ''}", row[key]): row for row in rows}


def plain(value: Any) -> str | int | float | bool | None:
    value = value.item() if hasattr(value, "item") else value  # a NumPy scalar
    if pd.isna(value) or value in (math.inf, -math.inf):
        return None
    return int(value) if isinstance(value, float) and value.is_integer() else value
