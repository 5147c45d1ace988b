"""Convert data frames to plain rows for web pages."""

import math
from typing import Any

import pandas as pd

# A row of a page: plain Python values, None for missing ones.
Cells = dict[str, Any]


def cells(frame: pd.DataFrame) -> list[Cells]:
    """Return the rows as plain values; whole numbers are int, even if a missing one made the column float."""
    rows = frame.astype(object).to_dict("records")
    return [{str(name): plain(value) for name, value in row.items()} for row in rows]


def get_checkpoint_name(row: Cells) -> str:
    """Join the checkpoint's name from the model and the variant of a row."""
    return f"{row['model']}{row['variant'] or ''}"


def plain(value: Any) -> str | int | float | bool | None:
    if value is None or value is pd.NA:
        return None
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() else float(value)
    if hasattr(value, "item"):  # a NumPy scalar
        return value.item()
    return value if isinstance(value, str | int | bool) else str(value)
