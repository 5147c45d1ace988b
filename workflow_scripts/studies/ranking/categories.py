"""Average the agreement of tasks by their categories, and within each."""

from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.settings.tables import CATEGORIES
from workflow_scripts.studies.ranking import frame
from workflow_scripts.studies.ranking.agreement import average_categories, compute_correlations
from workflow_scripts.studies.ranking.grid import Grids, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.plots import pivot_pairs, plot_heat_maps

_ROW = ["measure", "first", "second", "pairs"]
_NOTE = (
    "Mean agreement over pairs of different tasks, one of each category; within: both of one category."
    " Protocols that have other numbers of pairs stand in rows of their own."
)


def compute_categories(grids: Grids, settings: GridSettings) -> pd.DataFrame:
    """Compute a row per protocol, measure and pair of categories, in their order."""
    category = {task.task: task.category for task in settings.tasks}
    rows = []
    for grid in grids.values():
        sizes = grid.measured.columns.map(category).value_counts()
        for measure in settings.grid.measures:
            matrix = compute_correlations(grid.measured, measure)
            for first, second, value in average_categories(matrix, settings):
                size = sizes[first]
                pairs = size * (size - 1) // 2 if first == second else size * sizes[second]
                rows.append((grid.protocol, measure, first, second, value, pairs))
    return pd.DataFrame(rows, columns=["protocol", *_ROW[:3], "value", "pairs"])


def plot_categories(table: pd.DataFrame, settings: GridSettings, files: list[Path]) -> None:
    """Plot the mean of tau-b for every two categories."""
    rows = table[table["measure"] == "kendall"]
    present = {*rows["first"], *rows["second"]}
    names = {
        name: name.replace(" ", "\n").replace("/", "/\n")
        for name in settings.grid.categories or CATEGORIES
        if name in present
    }
    squares = pivot_pairs(rows, settings.grid.names, settings.grid, names)
    plot_heat_maps(squares, files, "mean of Kendall's tau-b over pairs of different tasks")


def main(
    cells: Path, models: Path, table: list[Path], figure: list[Path], settings: dict[str, Any]
) -> None:
    grid_settings = GridSettings.of(settings)
    categories = compute_categories(read_grids(cells, models), grid_settings)
    wide = categories.pivot(index=_ROW, columns="protocol", values="value")
    rows = wide.reindex(pd.MultiIndex.from_frame(categories[_ROW].drop_duplicates())).reset_index()
    names = grid_settings.grid.names
    between = rows["first"] + " and " + rows["second"]
    shown = {
        "Measure": rows["measure"].map(frame.MEASURES),
        "Categories": between.mask(rows["first"] == rows["second"], "within " + rows["first"]),
        "Pairs": "{pairs}",
        **{name: f"{{{key}:.3f}}" for key, name in names.items() if key in rows},
    }
    title = "Agreement by category"
    frame.write_grid_table(
        categories, table, grid_settings, title=title, note=_NOTE, shown=shown, rows=rows
    )
    plot_categories(categories, grid_settings, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
