"""Two tasks side by side: the rank of each model on both, and the ranks that it could as well have."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.figures import draw_placeholder, drawing
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import format_with_errors
from workflow_scripts.stats.partial_order import (
    SIGNIFICANT,
    joint_ranks,
    opposed_models,
    partial_orders,
    rank_bounds,
)
from workflow_scripts.studies.ranking import frame, plots
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.leaderboard import format_rank

_NOTE = (
    "Two tasks over the models that have both, scores with their standard errors. A model ranks above"
    f" another where its score is higher by more than {SIGNIFICANT} standard errors of the difference;"
    " in brackets the ranks that this order leaves a model. Among these its rank is chosen as alike on"
    " both tasks as the order allows, so that what differs between them differs significantly."
    " A score without a standard error is above or below none."
)
_ABOUT = ["model", "variant", "origin", "family"]
_FOUND = ["value", "stderr", "rank", "best", "worst", "opposed"]


def compute_task_pair(
    grids: Mapping[str, Grid], settings: GridSettings, pair: Sequence[str]
) -> pd.DataFrame:
    """Compute a row per protocol, task and model that has both tasks, best first; none of a single task."""
    grids = {key: grid for key, grid in grids.items() if key in settings.grid.drawn}
    # In the order of the tasks table, as the columns of a grid are.
    measured = dict.fromkeys(task for grid in grids.values() for task in grid.measured)
    tasks = list(pair or measured)[:2]
    tables = [pd.DataFrame(columns=["protocol", "task", "label", *_ABOUT, *_FOUND])]
    for protocol, grid in grids.items():
        if len(tasks) < 2 or not set(tasks) <= set(grid.values):
            continue
        values = grid.values[tasks].dropna()
        errors = grid.errors.part(values)
        above = partial_orders(errors)
        ranks = joint_ranks(errors, above)
        about = grid.models.loc[values.index, _ABOUT].assign(opposed=opposed_models(above))
        for task, better in zip(tasks, above, strict=True):
            best, worst = rank_bounds(better)
            table = about.assign(protocol=protocol, task=task, best=best, worst=worst)
            table = table.assign(value=values[task], stderr=errors.stderrs[task], rank=ranks[task])
            table = table.rename_axis("label").reset_index().sort_values("rank")
            tables.append(table[list(tables[0])])
    return pd.concat(tables[1:] or tables, ignore_index=True)


def format_columns(table: pd.DataFrame, settings: GridSettings) -> ShownColumns:
    ranked = zip(table["rank"], table["best"], table["worst"], strict=True)
    return {
        "Protocol": table["protocol"].map(settings.grid.names),
        "Task": table["task"].map(settings.names),
        "Rank": [format_rank(*row) for row in ranked],
        "Model": table["label"],
        "Score": format_with_errors(table["value"], table["stderr"]),
    }


def plot_task_pair(table: pd.DataFrame, settings: GridSettings, files: list[Path]) -> None:
    """Plot a panel per protocol, a column per task: a line per model, strong where its two ranges do not meet."""
    table = table.assign(name=plots.shorten_names(table), family=table["family"].fillna("other"))
    protocols = plots.shown_protocols(table, settings.grid)
    looks, tasks = plots.color_families(table), list(dict.fromkeys(table["task"]))
    names = {task: settings.names[task] for task in tasks}
    panels = {"ncols": max(len(protocols), 1), "squeeze": False}
    height = plots.rank_height(table["label"].nunique())
    with drawing(files, 5.4 * panels["ncols"], height, **panels) as (fig, (axes,)):
        if not protocols:
            draw_placeholder(axes[0], "No model has a score on both tasks.")
            return
        for axis, protocol in zip(axes, protocols, strict=True):
            rows = table[table["protocol"] == protocol]
            plots.draw_ranks(axis, rows, "task", names, looks, ("rank", "best", "worst"))
            axis.set_title(settings.grid.names[protocol], fontsize=10, pad=16)
        plots.explain_families(fig, axes[0], table, looks, 8)


def main(
    cells: Path,
    models: Path,
    table: list[Path],
    figure: list[Path],
    settings: dict[str, Any],
    task_pair: Sequence[str],
) -> None:
    of_grid = GridSettings.of(settings)
    pair = compute_task_pair(read_grids(cells, models), of_grid, task_pair)
    title = frame.make_title("Two tasks side by side", of_grid)
    note = _NOTE + frame.RAW_AND_MISSING * of_grid.grid.run
    write_table(pair, table, title=title, note=note, shown=format_columns(pair, of_grid))
    plot_task_pair(pair, of_grid, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
