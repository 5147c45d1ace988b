"""Test on each task whether newer models score higher than older ones with the same pre-training compute.

score = chance + slope x max(log10 compute - knee, 0) + step x (trained in the month that the grid names, or later)
"""

from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import validate_call

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


def fit_knee(log_compute: np.ndarray, newer: np.ndarray, gains: np.ndarray) -> dict[str, float]:
    """Fit `gains`, scores minus chance, by least squares; `newer` is 1 for newer models and 0 for others.

    Given which models are beyond the knee, the fit is linear with an intercept, so every such set is tried.
    """

    def solve(*columns: np.ndarray) -> tuple[np.ndarray, float]:
        design = np.column_stack(columns)
        solution = np.linalg.lstsq(design, gains)[0]
        return solution, float(np.square(gains - design @ solution).sum())

    values = np.unique(log_compute)
    knees = values.tolist()
    for low, high in zip([-np.inf, *values[:-1]], values, strict=True):
        is_beyond = log_compute >= high
        (slope, intercept, _), _ = solve(is_beyond * log_compute, is_beyond, newer)
        if slope and low < -intercept / slope < high:
            knees.append(float(-intercept / slope))
    knee = min(knees, key=lambda knee: solve(np.maximum(log_compute - knee, 0), newer)[1])
    excess = np.maximum(log_compute - knee, 0)
    (slope, step), squares = solve(excess, newer)
    # The derivatives of the fit by slope, step and knee.
    jacobian = np.column_stack([excess, newer, -slope * (log_compute > knee)])
    inverse = np.linalg.pinv(jacobian.T @ jacobian)
    variance = inverse[1, 1] * squares / (len(log_compute) - 3)
    return {
        "slope": float(slope),
        "knee": knee,
        "step": float(step),
        "stderr": float(np.sqrt(variance)),
        "explained": 1 - squares / float(np.square(gains).sum()),
    }


def compare_newer_models(grids: Grids, newer: GridNewer) -> pd.DataFrame:
    """Compute one row per protocol, task and model with the task's fit, for tasks with newer and older models."""
    tables = []
    for protocol, grid in grids.items():
        models = grid.models[["parameters_billion", "tokens_billion", "date"]].dropna()
        models = models.assign(compute=count_operations(models)).sort_values("compute")
        models["newer"] = (models["date"].astype(str) >= newer.since).astype(int)
        for task in grid.measured:
            table = models[["newer", "compute"]].join(grid.scores[task].rename("value")).dropna()
            if len(table) < _MIN_MODELS or table["newer"].nunique() < 2:
                continue
            chance = newer.chance[task]
            fitted = fit_knee(np.log10(table["compute"]), table["newer"], table["value"] - chance)
            fitted["printed"] = newer.printed.get(protocol, {}).get(task, np.nan)
            key = {"protocol": protocol, "task": task, "model": table.index, "chance": chance}
            tables.append(table.assign(**key, **fitted)[_COLUMNS])
    return pd.concat(tables, ignore_index=True)


@validate_call
def main(grid: Path, table: list[Path], settings: GridSettings) -> None:
    assert settings.newer, "the rule is for grids that ask"
    newer = compare_newer_models(read_grids(grid), settings.newer)
    groups = newer.groupby(["task", "protocol"], sort=False)
    fits = groups.first().assign(models=groups.size(), newer=groups["newer"].sum())
    fits = fits.reindex(list(settings.task_names), level="task").reset_index()
    shown = {
        "Task": fits["task"].map(settings.task_names),
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
        since=settings.newer.since,
        operations=OPERATIONS,
        clipped=settings.clip_note,
    )
    title = "Newer and older models"
    write_grid_table(newer, table, settings, title=title, note=note, shown=shown, rows=fits)


if "snakemake" in globals():
    run_job(main, snakemake)
