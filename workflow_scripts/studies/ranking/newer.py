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
from workflow_scripts.render.text import number, numbers, with_errors
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
    """Of scores above chance. Which models lie beyond the knee makes the fit a linear one: every choice is tried."""

    def squares(knee: float) -> float:
        columns = np.column_stack([np.maximum(logs - knee, 0), newer])
        return float(np.square(above - columns @ np.linalg.lstsq(columns, above)[0]).sum())

    knots = np.unique(logs)
    knees = [float(knot) for knot in knots]
    for low, high in zip([-np.inf, *knots[:-1]], knots, strict=True):
        columns = np.column_stack([(logs >= high) * logs, logs >= high, newer])
        slope, height, _ = np.linalg.lstsq(columns, above)[0]
        if slope and low < -height / slope < high:
            knees.append(float(-height / slope))
    knee = min(knees, key=squares)
    columns = np.column_stack([np.maximum(logs - knee, 0), newer])
    slope, step = map(float, np.linalg.lstsq(columns, above)[0])
    moves = np.column_stack([columns, -slope * (logs > knee)])  # the knee is fitted too
    variance = np.linalg.pinv(moves.T @ moves)[1, 1] * squares(knee) / (len(logs) - 3)
    share = 1 - squares(knee) / float(np.square(above).sum())
    numbers_of = slope, knee, step, float(np.sqrt(variance)), share
    return dict(zip(("slope", "knee", "step", "stderr", "explained"), numbers_of, strict=True))


def compare_newer_models(grids: dict[str, Grid], settings: GridSettings) -> pd.DataFrame:
    """A row per protocol, task and model, with the fit of the task; none of a task without models of both ages."""
    found, asked = [pd.DataFrame(columns=_COLUMNS)], settings.grid.newer
    assert asked, "it is of a grid that asks"
    for protocol, grid in grids.items():
        known = grid.models[["parameters_billion", "tokens_billion", "date"]].dropna()
        flop = count_operations(known).sort_values()
        for task in grid.measured:
            scores = grid.values[task].reindex(flop.index).dropna()
            newer = (known["date"][scores.index].astype(str) >= asked.since).astype(int)
            if len(scores) < _FEWEST or newer.nunique() < 2:
                continue
            chance, used = asked.chance[task], flop[scores.index]
            of_task = fit(np.log10(used), newer, scores - chance)
            of_task["printed"] = asked.printed.get(protocol, {}).get(task, np.nan)
            of_task["chance"] = chance
            rows = {"model": scores.index, "newer": newer, "compute": used, "value": scores}
            found.append(pd.DataFrame(rows).assign(protocol=protocol, task=task, **of_task))
    return pd.concat([one for one in found if len(one)] or found, ignore_index=True)


def format_columns(table: pd.DataFrame, settings: GridSettings) -> ShownColumns:
    cells = table.groupby(["task", "protocol"], sort=False)
    fits = cells.first().assign(models=cells.size(), newer=cells["newer"].sum()).reset_index()
    fits = fits.sort_values(
        "task", key=lambda of: of.map(list(settings.names).index), kind="stable"
    )
    named = {"Task": fits["task"].map(settings.names)}
    named["Protocol"] = fits["protocol"].map(settings.grid.names)
    named["Step"] = with_errors(fits["step"], fits["stderr"])
    named |= {name.capitalize(): numbers(fits[name], of) for name, of in _SHOWN.items()}
    return named


def plot_newer(table: pd.DataFrame, settings: GridSettings, files: list[Path]) -> None:
    """Two tasks a row, a panel for each protocol of a task; two colours, and the two lines of the fit."""
    tasks = [task for task in settings.names if task in set(table["task"])]
    wide = 2 * max([1, *table.groupby("task")["protocol"].nunique()])
    many = {"ncols": wide, "nrows": max(1, ceil(len(tasks) / 2)), "squeeze": False}
    size = 1 + 2.1 * wide, 0.9 + 1.7 * many["nrows"]
    with drawing(files, *size, **many) as (fig, places):
        for axes in places.flat:
            axes.set_axis_off()
        for task, panels in zip(tasks, places.reshape(-1, wide // 2), strict=False):
            of_task = table[table["task"] == task]
            for at, (key, of) in enumerate(of_task.groupby("protocol", sort=False)):
                _draw(panels[at], of, of_task["value"])
                after = settings.grid.protocols[str(key)].after_training
                panels[at].set_title(settings.names[task] + ", trained" * after, fontsize=8)
        for newer, name in enumerate(("older models", "newer models")):
            places[0, 0].plot([], [], "o-", color=PALETTE[newer], label=name)
        across = "across: FLOP of pre-training, 6 × parameters × tokens"
        legend_below(fig, places[0, 0], 2, title=across)


def _draw(axes, of: pd.DataFrame, of_task: pd.Series) -> None:
    fitted, axes.axison = of.iloc[0], True
    for newer, rows in of.groupby("newer"):
        look = {"color": PALETTE[newer], "markersize": 3, "alpha": 0.7}
        axes.plot(rows["compute"], rows["value"], "o", **look)
        across = np.geomspace(rows["compute"].min(), rows["compute"].max(), 100)
        rise = fitted["slope"] * np.maximum(np.log10(across) - fitted["knee"], 0)
        axes.plot(across, fitted["chance"] + rise + newer * fitted["step"], **look)
    room = 0.1 * (of_task.max() - of_task.min())
    axes.set(xscale="log", ylim=(of_task.min() - room, of_task.max() + 2 * room))
    said = f"{number(fitted['step'])} ± {number(fitted['stderr'])}"
    axes.text(0.03, 0.97, said, transform=axes.transAxes, va="top", fontsize=7)
    rule(axes, "both", "0.92")


def main(
    cells: Path, models: Path, table: list[Path], figure: list[Path], settings: dict[str, Any]
) -> None:
    of_grid = GridSettings.of(settings)
    newer = compare_newer_models(read_grids(cells, models), of_grid)
    since = of_grid.grid.newer.since if of_grid.grid.newer else ""
    note = _NOTE.format(since=since, operations=OPERATIONS, floored=of_grid.grid.floor_said)
    title = frame.make_title("Newer and older models", of_grid)
    write_table(newer, table, title=title, note=note, shown=format_columns(newer, of_grid))
    plot_newer(newer, of_grid, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
