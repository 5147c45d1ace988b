"""Test on each task whether newer models score higher than older ones with the same pre-training compute.

score = chance + slope x max(log10 compute - knee, 0) + step x (trained in the month that the grid names, or later)
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.settings.grids import GridNewer
from workflow_scripts.studies.ranking.compute import OPERATIONS, count_operations
from workflow_scripts.studies.ranking.grid import Grids, read_grids
from workflow_scripts.studies.ranking.grid_settings import GridSettings
from workflow_scripts.studies.ranking.grid_tables import write_grid_table

_COLUMNS = ["protocol", "task", "model", "newer", "compute", "value", "chance", "slope", "knee"]
_COLUMNS += ["step", "stderr", "explained", "printed"]
_MIN_MODELS = 5  # fewest models, as the fit has three parameters
_NOTE = (
    "Least squares over slope, knee and step of score = chance + slope × max(log10 compute − knee, 0) + step"
    " where the model was trained in {since} or later; compute is {operations} × parameters × tokens of"
    " pre-training. The step has its standard error. Explained: share of the squared distances from chance."
    " Printed: the step as the authors print it. Of the scores{clipped}."
)


def fit(logs: np.ndarray, newer: np.ndarray, above: np.ndarray) -> dict[str, float]:
    """Fit scores above chance. Given the models beyond the knee the fit is linear, so every such set is tried."""

    def solve(*columns: np.ndarray) -> tuple[np.ndarray, float]:
        design = np.column_stack(columns)
        solution = np.linalg.lstsq(design, above)[0]
        return solution, float(np.square(above - design @ solution).sum())

    knots = np.unique(logs)
    knees = [float(knot) for knot in knots]
    for low, high in zip([-np.inf, *knots[:-1]], knots, strict=True):
        (slope, height, _), _ = solve((logs >= high) * logs, logs >= high, newer)
        if slope and low < -height / slope < high:
            knees.append(float(-height / slope))
    knee = min(knees, key=lambda knee: solve(np.maximum(logs - knee, 0), newer)[1])
    rise = np.maximum(logs - knee, 0)
    (slope, step), squares = solve(rise, newer)
    # The last column is for the fitted knee.
    moves = np.column_stack([rise, newer, -slope * (logs > knee)])
    variance = np.linalg.pinv(moves.T @ moves)[1, 1] * squares / (len(logs) - 3)
    return {
        "slope": float(slope),
        "knee": knee,
        "step": float(step),
        "stderr": float(np.sqrt(variance)),
        "explained": 1 - squares / float(np.square(above).sum()),
    }


def compare_newer_models(grids: Grids, request: GridNewer) -> pd.DataFrame:
    """Compute one row per protocol, task and model with the task's fit, for tasks with newer and older models."""
    tables = []
    for protocol, grid in grids.items():
        models = grid.models[["parameters_billion", "tokens_billion", "date"]].dropna()
        models = models.assign(compute=count_operations(models)).sort_values("compute")
        models["newer"] = (models["date"].astype(str) >= request.since).astype(int)
        for task in grid.measured:
            table = models[["newer", "compute"]].join(grid.values[task].rename("value")).dropna()
            if len(table) < _MIN_MODELS or table["newer"].nunique() < 2:
                continue
            chance = request.chance[task]
            fitted = fit(np.log10(table["compute"]), table["newer"], table["value"] - chance)
            fitted["printed"] = request.printed.get(protocol, {}).get(task, np.nan)
            about = {"protocol": protocol, "task": task, "model": table.index, "chance": chance}
            tables.append(table.assign(**about, **fitted)[_COLUMNS])
    return pd.concat(tables, ignore_index=True)


def main(grid: Path, table: list[Path], settings: dict[str, Any]) -> None:
    grid_settings = GridSettings.model_validate(settings)
    assert grid_settings.newer, "the rule is for grids that ask"
    newer = compare_newer_models(read_grids(grid), grid_settings.newer)
    groups = newer.groupby(["task", "protocol"], sort=False)
    fits = groups.first().assign(models=groups.size(), newer=groups["newer"].sum())
    fits = fits.reindex(list(grid_settings.task_names), level="task").reset_index()
    shown = {
        "Task": fits["task"].map(grid_settings.task_names),
        "Protocol": "{protocol}",
        "Step": "{step:.3f} ± {stderr:.3f}",
        "Printed": "{printed:.3f}",
        "Models": "{models}",
        "Newer": "{newer}",
        "Chance": "{chance:.2f}",
        "Slope": "{slope:.3f}",
        "Knee": "{knee:.2f}",
        "Explained": "{explained:.3f}",
    }
    note = _NOTE.format(
        since=grid_settings.newer.since,
        operations=OPERATIONS,
        clipped=grid_settings.clip_note,
    )
    title = "Newer and older models"
    write_grid_table(newer, table, grid_settings, title=title, note=note, shown=shown, rows=fits)


if "snakemake" in globals():
    run_job(main, snakemake)
