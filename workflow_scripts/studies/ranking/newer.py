"""Whether newer models score higher than older ones of the same compute of pre-training, task by task.

score = chance + slope x max(log10 compute - knee, 0) + step x (trained in the month that the grid names, or later)
"""

from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.figures import PALETTE, drawing, legend_below, rule
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import format_with_errors, numbers
from workflow_scripts.studies.ranking import frame
from workflow_scripts.studies.ranking.compute import OPERATIONS, count_operations
from workflow_scripts.studies.ranking.grid import Grid, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings

_COLUMNS = ["protocol", "task", "model", "newer", "compute", "value", "chance", "slope", "knee"]
_COLUMNS += ["step", "stderr", "explained", "printed"]
_SHOWN = {"printed": ".3f", "models": "d", "newer": "d", "chance": ".2f", "slope": ".3f"}
_SHOWN |= {"knee": ".2f", "explained": ".3f"}
_FEWEST = 5  # models: the fit has three numbers
_NOTE = (
    "Least squares over slope, knee and step of score = chance + slope × max(log10 compute − knee, 0) + step"
    " where the model was trained in {since} or later; compute is {operations} × parameters × tokens of"
    " pre-training. The step has its standard error. Explained: share of the squared distances from chance."
    " Printed: the step as the authors print it. Of the scores{floored}."
)


def fit(logs: np.ndarray, newer: np.ndarray, above: np.ndarray) -> dict[str, float]:
    """Fit scores above chance. Which models lie beyond the knee makes the fit a linear one: every choice is tried."""

    def solve(*columns: np.ndarray) -> tuple[np.ndarray, float]:
        design = np.column_stack(columns)
        solution = np.linalg.lstsq(design, above)[0]
        return solution, float(np.square(above - design @ solution).sum())

    knots = np.unique(logs)
    knees = list(map(float, knots))
    for low, high in zip([-np.inf, *knots[:-1]], knots, strict=True):
        (slope, height, _), _ = solve((logs >= high) * logs, logs >= high, newer)
        if slope and low < -height / slope < high:
            knees.append(float(-height / slope))
    knee = min(knees, key=lambda knee: solve(np.maximum(logs - knee, 0), newer)[1])
    rise = np.maximum(logs - knee, 0)
    (slope, step), squares = solve(rise, newer)
    moves = np.column_stack([rise, newer, -slope * (logs > knee)])  # the knee is fitted too
    variance = np.linalg.pinv(moves.T @ moves)[1, 1] * squares / (len(logs) - 3)
    return {
        "slope": float(slope),
        "knee": knee,
        "step": float(step),
        "stderr": float(np.sqrt(variance)),
        "explained": 1 - squares / float(np.square(above).sum()),
    }


def compare_newer_models(grids: dict[str, Grid], settings: GridSettings) -> pd.DataFrame:
    """Compute a row per protocol, task and model, with the fit of the task, if it has models of both ages."""
    asked, tables = settings.grid.newer, [pd.DataFrame(columns=_COLUMNS)]
    assert asked, "the rule is for grids that ask"
    for protocol, grid in grids.items():
        known = grid.models[["parameters_billion", "tokens_billion", "date"]].dropna()
        known = known.assign(compute=count_operations(known)).sort_values("compute")
        known["newer"] = (known["date"].astype(str) >= asked.since).astype(int)
        for task in grid.measured:
            table = known[["newer", "compute"]].join(grid.values[task].rename("value")).dropna()
            if len(table) < _FEWEST or table["newer"].nunique() < 2:
                continue
            chance = asked.chance[task]
            fitted = fit(np.log10(table["compute"]), table["newer"], table["value"] - chance)
            fitted["printed"] = asked.printed.get(protocol, {}).get(task, np.nan)
            about = {"protocol": protocol, "task": task, "model": table.index, "chance": chance}
            tables.append(table.assign(**about, **fitted)[_COLUMNS])
    return pd.concat(tables[1:] or tables, ignore_index=True)


def format_columns(table: pd.DataFrame, settings: GridSettings) -> ShownColumns:
    cells = table.groupby(["task", "protocol"], sort=False)
    fits = cells.first().assign(models=cells.size(), newer=cells["newer"].sum()).reset_index()
    fits = fits.sort_values(
        "task", key=lambda of: of.map(list(settings.names).index), kind="stable"
    )
    named = {"Task": fits["task"].map(settings.names)}
    named["Protocol"] = fits["protocol"].map(settings.grid.names)
    named["Step"] = format_with_errors(fits["step"], fits["stderr"])
    named |= {name.capitalize(): numbers(fits[name], of) for name, of in _SHOWN.items()}
    return named


def plot_newer(table: pd.DataFrame, settings: GridSettings, files: list[Path]) -> None:
    """Plot a task a row, a panel for each protocol; two colours, and the two lines of the fit."""
    tasks = [task for task in settings.names if task in set(table["task"])]
    protocols = max([1, *table.groupby("task")["protocol"].nunique()])
    grid = {"ncols": 2 * protocols, "nrows": max(1, ceil(len(tasks) / 2)), "squeeze": False}
    size = 1 + 4.2 * protocols, 0.9 + 1.7 * grid["nrows"]
    with drawing(files, *size, **grid) as (fig, places):
        for axes in places.flat:
            axes.set_axis_off()
        for task, panels in zip(tasks, places.reshape(-1, protocols), strict=False):
            of_task = table[table["task"] == task]
            for axes, (key, of) in zip(
                panels, of_task.groupby("protocol", sort=False), strict=False
            ):
                _draw(axes, of)
                after = settings.grid.protocols[str(key)].after_training
                axes.set_title(settings.names[task] + ", trained" * after, fontsize=8)
        for newer, name in enumerate(("older models", "newer models")):
            places[0, 0].plot([], [], "o-", color=PALETTE[newer], label=name)
        across = "across: FLOP of pre-training, 6 × parameters × tokens"
        legend_below(fig, places[0, 0], 2, title=across)


def _draw(axes, of: pd.DataFrame) -> None:
    fitted, axes.axison = of.iloc[0], True
    for newer, rows in of.groupby("newer"):
        look = {"color": PALETTE[newer], "markersize": 3, "alpha": 0.7}
        axes.plot(rows["compute"], rows["value"], "o", **look)
        across = np.geomspace(rows["compute"].min(), rows["compute"].max(), 100)
        rise = fitted["slope"] * np.maximum(np.log10(across) - fitted["knee"], 0)
        axes.plot(across, fitted["chance"] + rise + newer * fitted["step"], **look)
    axes.set_xscale("log")
    (step,) = format_with_errors([fitted["step"]], [fitted["stderr"]])
    axes.text(0.03, 0.97, step, transform=axes.transAxes, va="top", fontsize=7)
    rule(axes, "both", "0.92")


def main(
    cells: Path, models: Path, table: list[Path], figure: list[Path], settings: dict[str, Any]
) -> None:
    of_grid = GridSettings.of(settings)
    newer = compare_newer_models(read_grids(cells, models), of_grid)
    since = of_grid.grid.newer.since if of_grid.grid.newer else ""
    note = _NOTE.format(since=since, operations=OPERATIONS, floored=of_grid.grid.floor_note)
    title = frame.make_title("Newer and older models", of_grid)
    write_table(newer, table, title=title, note=note, shown=format_columns(newer, of_grid))
    plot_newer(newer, of_grid, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
