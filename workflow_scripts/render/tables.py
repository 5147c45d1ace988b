"""One table, three files: CSV with full precision, Markdown for reading, LaTeX for the paper.

A study's module describes each of its tables as a `Table`, by the name TABLE. Its declaration names the module,
steps/table.py makes and writes it, and whatever reads it again (a figure, a board, the report) reads the
CSV file by the same columns.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.core.clean_text import for_markdown, latex_text, plain, plain_lines
from workflow_scripts.core.files import write_text
from workflow_scripts.render.frames import Columns
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.text import DASH
from workflow_scripts.scores.files import write_csv
from workflow_scripts.settings.request import StepRequest

ROWS_READ = 2000  # of a table that people read
# What a table shows, by the heads of its columns: strings, None for what is not there.
ShownColumns = Mapping[str, Any]


@dataclass(frozen=True)
class ShownTable:
    """A table as people read it."""

    title: str
    note: str
    head: list[str]
    right: list[bool]  # of each column, whether it is flush right, as numbers are
    rows: list[list[str]]


@dataclass(frozen=True)
class Table:
    """Where a table's numbers come from, and how people read them.

    `make` computes the frame from the rule's inputs and request; `show` turns a frame, fresh or read
    again, into columns of strings.
    """

    name: str  # of its files in results/tables, behind the grid's own where it is of any grid
    title: str | Callable[[Any], str]  # of an analysis of any grid by the request
    note: str | Callable[[pd.DataFrame, Any], str]  # likewise, by the frame and the request
    columns: Columns
    asks: type[StepRequest]
    make: Callable[[Inputs, Any], pd.DataFrame]
    show: Callable[[pd.DataFrame, Any], ShownColumns | pd.DataFrame]

    def read(self, csv: Path) -> pd.DataFrame:
        return self.columns.read(csv)

    def shown(self, frame: pd.DataFrame, request: StepRequest) -> ShownTable:
        strings = pd.DataFrame(self.show(frame, request)).astype("string").fillna(DASH)
        right = [_is_numeric(strings[column]) for column in strings.columns]
        rows = strings.to_numpy().tolist()
        title = self.title if isinstance(self.title, str) else self.title(request)
        note = self.note if isinstance(self.note, str) else self.note(frame, request)
        return ShownTable(title, note, list(strings.columns), right, rows)

    def write(
        self, frame: pd.DataFrame, request: StepRequest, *, csv: Path, md: Path, tex: Path
    ) -> None:
        """Write the frame to CSV in full, and to Markdown and LaTeX as people read it, unless there are thousands."""
        write_csv(frame, csv)
        shown = self.shown(frame, request)
        if (count := len(shown.rows)) > ROWS_READ:
            note = f"{shown.note} The first {ROWS_READ:,} of {count:,} rows; all are in the CSV."
            shown = replace(shown, note=note, rows=shown.rows[:ROWS_READ])
        write_text(md, _markdown(shown))
        write_text(tex, _latex(shown))


def _is_numeric(column: pd.Series) -> bool:
    return column.str.fullmatch(r"[-−+]?([\d.,]+|∞)( ± [\d.]+)?|—").all()


def _markdown(shown: ShownTable) -> str:
    right = shown.right
    cells = [list(map(for_markdown, row)) for row in (shown.head, *shown.rows)]
    # At least two: a rule of a colon alone is no rule to a Markdown reader.
    widths = [max(2, *(len(row[i]) for row in cells)) for i in range(len(right))]

    def line(row: list[str]) -> str:
        padded = (
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        )
        return f"| {' | '.join(padded)} |"

    rule = [
        "-" * (width - 1) + ":" if is_right else "-" * width
        for width, is_right in zip(widths, right, strict=True)
    ]
    table = [line(cells[0]), line(rule), *map(line, cells[1:])]
    return "\n".join([f"# {plain(shown.title)}", "", plain_lines(shown.note), "", *table, ""])


def _latex(shown: ShownTable) -> str:
    def line(row: list[str]) -> str:
        return " & ".join(map(latex_text, row)) + r" \\"

    alignment = "".join("r" if is_right else "l" for is_right in shown.right)
    head = line(shown.head)
    # longtable breaks over pages: a grid of models and tasks outgrows one.
    return "\n".join(
        [
            "% needs the packages booktabs and longtable",
            rf"\begin{{longtable}}{{{alignment}}}",
            rf"\caption{{{latex_text(shown.title)}. {latex_text(shown.note)}}}\\",
            r"\toprule",
            head,
            r"\midrule",
            r"\endfirsthead",
            r"\toprule",
            head,
            r"\midrule",
            r"\endhead",
            r"\bottomrule",
            r"\endlastfoot",
            *[line(row) for row in shown.rows],
            r"\end{longtable}",
            "",
        ]
    )
