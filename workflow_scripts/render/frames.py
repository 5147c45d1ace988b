"""Convert data frames to plain rows for web pages."""

import math
from typing import Any

import pandas as pd

Row = dict[str, Any]  # by column: values of Python's own types, None for missing ones


def convert_rows(frame: pd.DataFrame) -> list[Row]:
    """Convert each row to Python's own types; whole numbers become int, even if a missing one made the column float."""
    return [
        {name: convert_value(value) for name, value in row.items()}
        for row in frame.to_dict("records")
    ]


def index_checkpoints(table: pd.DataFrame | None, key: str) -> dict[tuple, Row]:
    """Return the rows by the pair of checkpoint and value of the column `key`; an empty dictionary without a table."""
    rows = [] if table is None else convert_rows(table)
    return {(f"{row['model']}{row['variant'] or ''}", row[key]): row for row in rows}


def convert_value(value: Any) -> str | int | float | bool | None:
    """Convert to Python's own type; NaN and infinity become None."""
    value = value.item() if hasattr(value, "item") else value  # a NumPy scalar
    if pd.isna(value) or value in (math.inf, -math.inf):
        return None
    return int(value) if isinstance(value, float) and value.is_integer() else value
