"""Define what the tables of grids share: names of protocols and statistics, titles and notes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.render.numbers import Values
from workflow_scripts.render.tables import write_table
from workflow_scripts.studies.ranking.grid_settings import GridSettings

STUDY = "harmony"
OWN = "own"  # the origin of our scores; for imported scores it is their file's name
# The protocols of a run in config/grids/own.yaml.
DIRECT = "direct"
FEW_SHOT = "few_shot"
TRAINED = "train_before_test"
CLIPPED = "train_before_test_clipped"
# Note under every table of a run's ranking.
RUN_NOTE = (
    " train-before-test has our raw scores, and imported ones as their source has them; clipped is the"
    " better of the raw and the zero-shot score. Missing cells are left out; harmony_leaderboard lists"
    " them, and estimates them for its ranks."
)
# Follows "with test items resampled" in notes.
RETRAINED_CLAUSE = " and, where their variance is known, training runs too"
ESTIMATED_MARK = "†"  # marks values that depend on estimated scores
# Statistics in the table of agreement.
MEAN = "mean"
CEILING = "ceiling"
PAIR = "pair"
RISE = "difference_from_direct"
IMPROVING = "share_improving_on_direct"
STATISTICS = {
    MEAN: "mean agreement",
    CEILING: "ceiling of that mean",
    RISE: "mean agreement minus direct",
    IMPROVING: "share of pairs that improve on direct",
}
MEASURES = {"kendall": "Kendall's tau-b", "pearson": "Pearson's r"}
OVERALL = "mean of tasks"  # in place of a task, in rows over all tasks
FIRST_COMPONENT = "PC1"
# Prefix and suffix of columns named after tasks.
LOADING_PREFIX = "loading_"
STDERR_SUFFIX = "_stderr"


def name_numbers(
    table: pd.DataFrame, prefix: str, keys: Sequence[str], columns: Sequence[str]
) -> Values:
    """Name each number in `columns` after the prefix, the values of `keys` in its row, and its column: a.b.c."""
    return {
        ".".join([prefix, *(str(row[key]) for key in keys), column]).lower(): row[column]
        for row in table.to_dict("records")
        for column in columns
    }


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
    """Write a table of a grid, adding the note that all tables of a run share.

    `shown` has the displayed columns of `rows`, the table or a part of it.
    """
    rows = table if rows is None else rows
    if "protocol" in rows:
        rows = rows.assign(protocol=rows["protocol"].map(settings.protocol_names))
    note += RUN_NOTE * settings.run
    if not settings.run:
        title = f"{settings.title}: {title[0].lower()}{title[1:]}"
    write_table(table, files, title=title, note=note, shown=shown, rows=rows)
