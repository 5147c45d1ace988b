"""One table, three files: CSV with full precision, Markdown for reading, LaTeX for the paper."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from workflow_scripts.core.files import atomic_path, write_text

_LATEX_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "±": r"$\pm$",
        "−": "$-$",
        "—": "---",
        "∞": r"$\infty$",
        "→": r"$\rightarrow$",
        "·": r"$\cdot$",
        "×": r"$\times$",
        "–": "--",
        "…": r"\ldots{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "[": "{[}",  # behind a line's end it would open an option
        "*": "{*}",  # and this would be one
    }
)


def latex_text(text: str) -> str:
    """The text as LaTeX prints it, whatever characters it has a meaning of its own for."""
    return text.translate(_LATEX_ESCAPES)


def write_table(
    frame: pd.DataFrame,
    *,
    csv: Path,
    md: Path,
    tex: Path,
    title: str,
    note: str,
    show: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame,
) -> None:
    """Write `frame` as it is to CSV, and as `show` turns it into strings to Markdown and LaTeX."""
    with atomic_path(csv) as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")
    shown = show(frame).astype("string").fillna("—")
    right = [_is_numeric(shown[column]) for column in shown.columns]
    write_text(md, _markdown(shown, right, title, note))
    write_text(tex, _latex(shown, right, title, note))


def _is_numeric(column: pd.Series) -> bool:
    return column.str.fullmatch(r"[-−+]?([\d.,]+|∞)( ± [\d.]+)?|—").all()


@dataclass(frozen=True)
class ShownTable:
    """A table as its Markdown file has it."""

    title: str
    note: str
    head: list[str]
    right: list[bool]  # of each column, whether it is flush right, as numbers are
    rows: list[list[str]]


def read_markdown(path: Path) -> ShownTable:
    """A table that was written here, read back."""
    title, _, note, _, *lines = path.read_text(encoding="utf-8").splitlines()
    head, rule, *rows = (
        [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in lines
    )
    right = [cell.endswith(":") for cell in rule]
    return ShownTable(title.removeprefix("# "), note, head, right, rows)


def _markdown(shown: pd.DataFrame, right: list[bool], title: str, note: str) -> str:
    cells = [list(shown.columns), *shown.to_numpy().tolist()]
    cells = [[cell.replace("|", r"\|") for cell in row] for row in cells]
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
    return "\n".join([f"# {title}", "", note, "", *table, ""])


def _latex(shown: pd.DataFrame, right: list[bool], title: str, note: str) -> str:
    def line(row: list[str]) -> str:
        return " & ".join(map(latex_text, row)) + r" \\"

    alignment = "".join("r" if is_right else "l" for is_right in right)
    head = line(list(shown.columns))
    # longtable breaks over pages: a grid of models and tasks outgrows one.
    return "\n".join(
        [
            "% needs the packages booktabs and longtable",
            rf"\begin{{longtable}}{{{alignment}}}",
            rf"\caption{{{latex_text(title)}. {latex_text(note)}}}\\",
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
            *[line(row) for row in shown.to_numpy().tolist()],
            r"\end{longtable}",
            "",
        ]
    )
