"""Write a table as three files: CSV with full precision, Markdown for reading, LaTeX for the paper.

A script calls `write_table`. The report reads the Markdown file with `read_markdown`; further computations read the
CSV file with `read_table`.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any

import pandas as pd

from workflow_scripts.core.clean_text import (
    clean_line,
    clean_lines,
    escape_latex,
    escape_markdown,
    unescape_csv,
)
from workflow_scripts.core.files import write_text
from workflow_scripts.render.numbers import FORMATS
from workflow_scripts.render.text import DASH, format_fixed
from workflow_scripts.scores.files import write_csv

MAX_SHOWN_ROWS = 2000  # rows in the Markdown and LaTeX files
_MISSING = "\0"  # a missing value in a filled template
# Displayed columns by heading: a template of each row's cell, or strings, None for missing values.
ShownColumns = Mapping[str, Any]


@dataclass(frozen=True)
class ShownTable:
    """A table in its displayed form."""

    title: str
    note: str
    head: list[str]
    is_right: list[bool]  # by column, whether it is right-aligned, as numbers are
    rows: list[list[str]]


class CellFormatter(Formatter):
    """Fill a template such as `{value:.3f} ± {stderr:.3f}`.

    A format is one of FORMATS or of Python's; a format in percent prints no percent sign.
    """

    def format_field(self, value: Any, format_spec: str) -> str:
        if pd.isna(value):
            return _MISSING
        if isinstance(value, str):
            return value
        if format_spec in FORMATS:
            return FORMATS[format_spec](value)
        return format_fixed(value, format_spec).rstrip("%")


def fill_template(template: str, rows: Sequence[dict[Any, Any]]) -> list[str | None]:
    """Fill a template with each row, leaving out a missing standard error at the end; None if a value is missing."""
    cells = (CellFormatter().vformat(template, (), row) for row in rows)
    texts = (cell.removesuffix(f" ± {_MISSING}") for cell in cells)
    return [None if _MISSING in text else text for text in texts]


def write_table(
    frame: pd.DataFrame,
    files: Sequence[Path],
    *,
    title: str,
    note: str,
    shown: ShownColumns | pd.DataFrame,
    rows: pd.DataFrame | None = None,
) -> None:
    """Write the full frame to CSV, and `shown`, its displayed columns, to Markdown and LaTeX.

    `files` are the CSV, the Markdown and the LaTeX file; the latter two have at most 2,000 rows. Missing values in
    `shown` become a dash. Templates are filled with `rows`, the frame or a part of it.
    """
    csv, markdown, latex = files
    write_csv(frame, csv)
    records = (frame if rows is None else rows).to_dict("records")
    columns = {
        name: fill_template(column, records) if isinstance(column, str) else column
        for name, column in shown.items()
    }
    strings = pd.DataFrame(columns).astype("string").fillna(DASH)
    alignments = ["right" if _is_numeric(strings[column]) else "left" for column in strings]
    if len(strings) > MAX_SHOWN_ROWS:
        note = f"{note} The first {MAX_SHOWN_ROWS:,} of {len(strings):,} rows; all are in the CSV."
    strings = strings[:MAX_SHOWN_ROWS]
    text = _escape_cells(strings, escape_markdown).to_markdown(
        index=False,
        disable_numparse=True,
        colalign=alignments,
    )
    write_text(markdown, f"# {clean_line(title)}\n\n{clean_lines(note)}\n\n{text}\n")
    # A longtable, since a grid of models and tasks may exceed one page.
    text = _escape_cells(strings, escape_latex).to_latex(
        index=False,
        longtable=True,
        caption=f"{escape_latex(title)}. {escape_latex(note)}",
        column_format="".join(alignment[0] for alignment in alignments),
    )
    write_text(latex, f"% needs the packages booktabs and longtable\n{text}")


def _escape_cells(strings: pd.DataFrame, escape: Callable[[str], str]) -> pd.DataFrame:
    return strings.map(escape).rename(columns=escape)


def _is_numeric(column: pd.Series) -> bool:
    return column.str.fullmatch(r"[-−+]?([\d.,]+|∞)( ± [\d.]+)?|—").all()


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV table of `write_table`: whole numbers as Int64, missing texts as None."""
    options = {"keep_default_na": False, "na_values": [""], "dtype_backend": "numpy_nullable"}
    return pd.read_csv(path, **options).apply(_convert_column)


def _convert_column(column: pd.Series) -> pd.Series:
    if column.name == "variant":  # empty for unchanged models, possibly in all rows
        return column.astype("object").fillna("")
    if column.dtype == "Float64" or column.isna().all():
        return column.astype("float64")
    if column.dtype == "string":
        texts = column.astype("object").map(unescape_csv, na_action="ignore")
        return texts.where(column.notna(), None)
    return column


def read_markdown(path: Path) -> ShownTable:
    """Read a Markdown table of `write_table`."""
    heading, note, text = path.read_text(encoding="utf-8").split("\n\n", 2)
    lines = csv.reader(text.splitlines(), delimiter="|", escapechar="\\", quoting=csv.QUOTE_NONE)
    head, alignments, *rows = ([cell.strip() for cell in line[1:-1]] for line in lines)
    is_right = [alignment.endswith(":") for alignment in alignments]
    return ShownTable(heading.removeprefix("# "), note, head, is_right, rows)
