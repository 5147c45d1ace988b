"""Hold what the tables of a grid have in common: names of protocols and statistics, titles and notes."""

from pathlib import Path

import pandas as pd

from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.studies.ranking.grid_settings import GridSettings

STUDY = "harmony"
OWN = "own"  # the origin of our scores; that of imported ones is their file's name
# The protocols of a run, as config/grids/own.yaml describes them.
DIRECT, FEW_SHOT, TRAINED = "direct", "few_shot", "train_before_test"
FLOORED = "train_before_test_floored"
# Their keys in the names of numbers.
KEYS = {DIRECT: "direct", FEW_SHOT: "few_shot", TRAINED: "trained"}
# Said under every table of the ranking of a run.
RAW_AND_MISSING = (
    " train-before-test has our raw scores, and imported ones as their source has them; clipped is the"
    " better of the raw and the zero-shot score. Missing cells are left out; harmony_leaderboard lists"
    " them, and estimates them for its ranks."
)
# Said after "had other items been drawn".
TRAININGS = ", and had each model been trained again where it is known how far that moves scores"
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
    TASK: "task with the others",
    TASK_CEILING: "ceiling of that task",
    CATEGORY: "category",
    PAIR: "pair",
}
MEASURES = {"kendall": "Kendall's tau-b", "pearson": "Pearson's r"}
OVERALL = "mean of tasks"  # in the table of significance, what is not about one task
FIRST_COMPONENT = "PC1"
# Columns that depend on the tasks are named after them.
LOADING, ERROR = "loading_", "_stderr"


def make_title(title: str, settings: GridSettings) -> str:
    """Return the title of a table, after that of a grid that is not the run's."""
    grid = settings.grid
    return title if grid.run else f"{grid.title}: {title[0].lower()}{title[1:]}"


def write_grid_table(
    table: pd.DataFrame,
    files: list[Path],
    settings: GridSettings,
    *,
    title: str,
    note: str,
    shown: ShownColumns,
) -> None:
    """Write a table of a grid, with what is said of every table of a run."""
    note += RAW_AND_MISSING * settings.grid.run
    write_table(table, files, title=make_title(title, settings), note=note, shown=shown)
