"""The columns of a table, named and typed once: whoever reads its CSV file guesses nothing."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from workflow_scripts.core.clean_text import from_csv
from workflow_scripts.core.errors import UserError

# text: a missing one is empty; maybe: a text that may be missing (None); whole: Int64; number: float.
Kind = Literal["text", "maybe", "whole", "number"]
# What a board or a page holds: plain values, None for what is missing.
Cells = dict[str, Any]


@dataclass(frozen=True)
class Columns:
    """`named` are always there; `like` are those whose names depend on tasks or texts, by a pattern."""

    named: Mapping[str, Kind]
    like: Mapping[str, Kind] = field(default_factory=dict)

    def kind(self, name: str) -> Kind | None:
        if name in self.named:
            return self.named[name]
        return next((kind for rx, kind in self.like.items() if re.fullmatch(rx, name)), None)

    def read(self, csv: Path) -> pd.DataFrame:
        """The table as it was written; a column that is missing or unknown is an error."""
        frame = pd.read_csv(csv, dtype="object", keep_default_na=False, na_values=[""])
        missing = [name for name in self.named if name not in frame]
        unknown = [name for name in frame if self.kind(name) is None]
        if missing or unknown:
            raise UserError(
                f"{csv} has {'no column ' + missing[0] if missing else 'the unknown column ' + unknown[0]};"
                " expected the columns that this version of Chorus writes. Delete the file and run"
                " snakemake again."
            )
        for name in frame:
            texts = [from_csv(one) if isinstance(one, str) else one for one in frame[name]]
            frame[name] = _typed(pd.Series(texts, dtype="object"), self.kind(name))
        return frame

    def typed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame with these columns alone, of the types that they are read with."""
        names = [*self.named, *(name for name in frame if name not in self.named)]
        names = [name for name in names if self.kind(name)]
        typed = {name: _typed(frame[name].astype(object), self.kind(name)) for name in names}
        return pd.DataFrame(typed).reset_index(drop=True)


def columns(*named: tuple[Kind, str], like: Mapping[str, Kind] | None = None) -> Columns:
    """Columns in this order: a kind, and the names that are of it, with spaces between."""
    return Columns({name: kind for kind, names in named for name in names.split()}, like or {})


def cells(frame: pd.DataFrame) -> list[Cells]:
    """The rows as plain values; whole numbers are int, though a missing one beside them made them float."""
    rows = frame.astype(object).to_dict("records")
    return [{str(name): plain(value) for name, value in row.items()} for row in rows]


def checkpoint_of(row: Cells) -> str:
    """The checkpoint of a row, by its model and variant."""
    return f"{row['model']}{row['variant'] or ''}"


def plain(value: Any) -> str | int | float | bool | None:
    if value is None or value is pd.NA:
        return None
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() else float(value)
    if hasattr(value, "item"):  # of numpy
        return value.item()
    return value if isinstance(value, str | int | bool) else str(value)


def _typed(column: pd.Series, kind: Kind | None) -> pd.Series:
    if kind == "text":
        return column.fillna("")
    if kind == "maybe":
        return column.where(column.notna(), None)
    values = pd.to_numeric(column).astype("float64")
    return values.astype("Int64") if kind == "whole" else values
