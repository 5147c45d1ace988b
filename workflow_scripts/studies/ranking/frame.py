"""Hold what the tables of a grid have in common: names of protocols and statistics, titles and notes."""

from collections.abc import Mapping
from pathlib import Path
from string import Formatter
from typing import Any

import pandas as pd

from workflow_scripts.render.tables import write_table
from workflow_scripts.render.text import fixed
from workflow_scripts.studies.ranking.grid_settings import GridSettings

STUDY = "harmony"
OWN = "own"  # the origin of our scores; that of imported ones is their file's name
# The protocols of a run, as config/grids/own.yaml describes them.
DIRECT, FEW_SHOT, TRAINED = "direct", "few_shot", "train_before_test"
CLIPPED = "train_before_test_clipped"
# Their keys in the names of numbers.
KEYS = {DIRECT: "direct", FEW_SHOT: "few_shot", TRAINED: "trained"}
# Said under every table of the ranking of a run.
RAW_AND_MISSING = (
    " train-before-test has our raw scores, and imported ones as their source has them; clipped is the"
    " better of the raw and the zero-shot score. Missing cells are left out; harmony_leaderboard lists"
    " them, and estimates them for its ranks."
)
# Said after "with test items resampled".
TRAININGS = " and, where their variance is known, training runs too"
ESTIMATED = "†"  # behind what rests on scores that were not measured
# What the table of agreement has a number of.
MEAN, OWN_REDRAW, CEILING = "mean", "own_redraw", "ceiling"
DIFFERENCE, SHARE = "difference_from_direct", "share_improving_on_direct"
TASK, TASK_CEILING, CATEGORY, PAIR = "task", "task_ceiling", "category", "pair"
STATISTICS = {
    MEAN: "mean agreement",
    OWN_REDRAW: "agreement of a task with its own redraw",
    CEILING: "ceiling of that mean",
    DIFFERENCE: "mean agreement minus direct",
    SHARE: "share of pairs that improve on direct",
}
MEASURES = {"kendall": "Kendall's tau-b", "pearson": "Pearson's r"}
OVERALL = "mean of tasks"  # in the table of significance, what is not about one task
FIRST_COMPONENT = "PC1"
# Columns that depend on the tasks are named after them.
LOADING, ERROR = "loading_", "_stderr"


class _NumberFormatter(Formatter):
    """Format numbers as people read them: with a minus sign, and shares in percent without its sign."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return fixed(value, format_spec).rstrip("%") if format_spec else str(value)


def format_rows(rows: pd.DataFrame, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Format the columns that are templates, such as `{low:.2f} to {high:.2f}`; None where a value is missing."""
    formatter, records, shown = _NumberFormatter(), rows.to_dict("records"), dict(columns)
    for head, column in columns.items():
        if isinstance(column, str):
            fields = [field for _, field, _, _ in formatter.parse(column) if field]
            is_complete = rows[fields].notna().all(axis=1)
            shown[head] = [
                formatter.vformat(column, (), record) if complete else None
                for record, complete in zip(records, is_complete, strict=True)
            ]
    return shown


def write_grid_table(
    table: pd.DataFrame,
    files: list[Path],
    settings: GridSettings,
    *,
    title: str,
    note: str,
    shown: Mapping[str, Any],
    rows: pd.DataFrame | None = None,
) -> None:
    """Write a table of a grid, with what is said of every table of a run.

    `shown` has the columns of `rows`, the table or a part of it, for people; templates are filled with its values.
    """
    rows = table if rows is None else rows
    if "protocol" in rows:
        rows = rows.assign(protocol=rows["protocol"].map(settings.grid.names))
    note += RAW_AND_MISSING * settings.grid.run
    if not settings.grid.run:
        title = f"{settings.grid.title}: {title[0].lower()}{title[1:]}"
    write_table(table, files, title=title, note=note, shown=format_rows(rows, shown))
