"""The agreement of tasks by their categories, and within each."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import numbers
from workflow_scripts.settings.tables import CATEGORIES
from workflow_scripts.studies.ranking import frame
from workflow_scripts.studies.ranking.agreement import correlate, mean_by_category
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.plots import plot_matrices

_ABOUT = ["measure", "first", "second", "pairs"]
_NOTE = (
    "Mean agreement over pairs of different tasks, one of each category; within: both of one category."
    " Protocols that have other numbers of pairs stand in rows of their own."
)


def compute_categories(grids: dict[str, Grid], settings: GridSettings) -> pd.DataFrame:
    """Compute a row per protocol, measure and pair of categories, in their order."""
    category = {one.task: one.category for one in settings.tasks}
    rows = []
    for grid in grids.values():
        sizes = Counter(category[task] for task in grid.measured)
        for measure in settings.grid.measures:
            matrix = correlate(grid.measured, measure)
            for first, second, value in mean_by_category(matrix, settings):
                pairs = (
                    sizes[first] * (sizes[second] - (first == second)) // (1 + (first == second))
                )
                rows.append((grid.protocol, measure, first, second, value, pairs))
    return pd.DataFrame(rows, columns=["protocol", *_ABOUT[:3], "value", "pairs"])


def format_columns(table: pd.DataFrame, settings: GridSettings) -> ShownColumns:
    wide = table.pivot(index=_ABOUT, columns="protocol", values="value")
    wide = wide.loc[list(table[_ABOUT].drop_duplicates().itertuples(index=False, name=None))]
    rows = wide.reset_index()
    within = rows["first"] == rows["second"]
    both = rows["first"] + " and " + rows["second"]
    return {
        "Measure": rows["measure"].map(frame.MEASURES),
        "Categories": ("within " + rows["first"]).where(within, both),
        "Pairs": numbers(rows["pairs"], "d"),
        **{name: numbers(rows[key]) for key, name in settings.grid.names.items() if key in rows},
    }


def plot_categories(table: pd.DataFrame, settings: GridSettings, files: list[Path]) -> None:
    """Plot the mean of tau-b for every two categories."""
    rows = table[table["measure"] == "kendall"]
    found = set(rows["first"]) | set(rows["second"])
    ordered = [name for name in settings.grid.categories or CATEGORIES if name in found]
    plot_matrices(
        rows,
        settings.grid.names,
        settings.grid,
        files,
        names={name: re.sub(r"(?<=/)| ", "\n", name) for name in ordered},  # a word a line
        label="mean of Kendall's tau-b over pairs of different tasks",
    )


def main(
    cells: Path, models: Path, table: list[Path], figure: list[Path], settings: dict[str, Any]
) -> None:
    of_grid = GridSettings.of(settings)
    categories = compute_categories(read_grids(cells, models), of_grid)
    title = frame.make_title("Agreement by category", of_grid)
    shown = format_columns(categories, of_grid)
    write_table(categories, table, title=title, note=_NOTE, shown=shown)
    plot_categories(categories, of_grid, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
