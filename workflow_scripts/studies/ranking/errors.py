"""Estimate the errors of a grid's scores: from the items that models share, and from independent training runs."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.scores.influences import get_row_errors
from workflow_scripts.scores.published_leaderboard import convert_to_fractions
from workflow_scripts.stats.item_errors import (
    append_unmeasured_models,
    build_assumed_errors,
)
from workflow_scripts.stats.reruns import (
    RetrainingNoise,
    compute_rerun_differences,
    estimate_retraining_noise,
    subtract_task_lines,
)
from workflow_scripts.studies.ranking.grid_tables import DIRECT, TRAINED

_ROW = ["protocol", "label"]


def add_item_errors(
    cells: pd.DataFrame, correlations: Mapping[str, float], measured: pd.DataFrame | None
) -> pd.DataFrame:
    """Add the errors of the scores from items, in the columns `shared` and `own` (the part that models do not share).

    All protocols share the items of a task. `correlations` has by task the correlation of two models' correctness over
    published items, which is assumed for scores without items; `measured` has the errors of the others, one row per
    protocol, label and task.
    """
    typical_correlation = float(np.median(list(correlations.values() or [0.0])))
    tables = []
    for task, rows in cells.groupby("task", sort=False):
        correlation = correlations.get(str(task), typical_correlation)
        stderrs = rows["stderr"].to_numpy()
        if measured is None or task not in set(measured["task"]):
            errors = build_assumed_errors(stderrs, correlation)
        else:
            measured_rows, errors = get_row_errors(measured[measured["task"] == task], _ROW)
            index = pd.MultiIndex.from_frame(rows[_ROW])
            is_other = ~index.isin(measured_rows)
            if is_other.any():
                errors = append_unmeasured_models(errors, stderrs[is_other], correlation)
            errors = errors.select(measured_rows.append(index[is_other]).get_indexer(index))
        tables.append(
            pd.DataFrame({"shared": list(errors.shared), "own": errors.independent}, rows.index)
        )
    return cells.join(pd.concat(tables or [pd.DataFrame(columns=["shared", "own"])]))


def estimate_training_errors(cells: pd.DataFrame, noise: RetrainingNoise | None) -> np.ndarray:
    """Estimate the errors of one protocol's scores from training, by its seeds or else by `noise`; 0 if unknown."""
    by_cell = cells.set_index(["label", "task"])
    tasks = cells["task"].dropna().unique()
    if (cells["seeds"] > 1).any():
        between, seeds = (by_cell[name].unstack(sort=False)[tasks] for name in ("between", "seeds"))
        errors = estimate_seed_errors(between, seeds)
    elif noise:
        models = cells.drop_duplicates("label").set_index("label")["model"]
        errors = noise.estimate_stderrs(models, list(tasks))
    else:
        return np.zeros(len(cells))
    return errors.stack().reindex(by_cell.index).fillna(0.0).to_numpy()


def estimate_seed_errors(between: pd.DataFrame, seeds: pd.DataFrame) -> pd.DataFrame:
    """Compute the standard error of each mean over seeds from training, using the variances between seeds.

    The variance of a task is pooled over its models, and its logarithm is shrunk towards the mean of all tasks by
    its uncertainty (the logarithm of s^2 with d degrees of freedom has a variance of about 2 / d).
    """
    df = (seeds - 1).where(between.notna()).sum()
    df = df.where(df > 0)
    logs = np.log(((between * (seeds - 1)).sum() / df).clip(lower=1e-12))
    within = 2 / df
    between_tasks = max(float(logs.var(ddof=0) - within.mean()), 0.0)
    shrunk = (logs * between_tasks + logs.mean() * within) / (between_tasks + within)
    return np.sqrt(np.exp(shrunk.fillna(logs.mean())) / seeds)


def estimate_published_noise(
    leaderboard: pd.DataFrame, cells: pd.DataFrame, models: list[dict[str, Any]]
) -> RetrainingNoise:
    """Estimate the retraining noise from the authors' two releases of the published grid.

    The releases are two runs of 61 models on 24 tasks. `leaderboard` is the wide table of their README, in percent;
    `cells` is the long table published with their code, in fractions.
    """
    differences = compute_rerun_differences(*read_releases(leaderboard, cells))
    return estimate_retraining_noise(differences, pd.DataFrame(models).set_index("model"))


def estimate_model_noise(
    first: pd.DataFrame, second: pd.DataFrame, zero_shot: pd.DataFrame, models: pd.DataFrame
) -> RetrainingNoise:
    """Estimate from two releases the retraining noise of single models, without shifts that models share."""
    levels = (first + second.reindex_like(first)) / 2
    differences = compute_rerun_differences(first, second, zero_shot)
    return estimate_retraining_noise(subtract_task_lines(differences, levels), models)


def read_releases(
    leaderboard: pd.DataFrame, cells: pd.DataFrame, direct: str = DIRECT, trained: str = TRAINED
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return both releases' scores after training, and the direct scores, as fractions by model and task."""
    wide = cells.astype({"value": float}).pivot(
        index="model", columns=["protocol", "task"], values="value"
    )
    return convert_to_fractions(leaderboard.set_index("model")), wide[trained], wide[direct]
