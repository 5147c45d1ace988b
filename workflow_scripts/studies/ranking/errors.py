"""Estimate the errors of a grid's scores: from the items that models share, and from independent training runs."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.scores.influences import get_row_errors
from workflow_scripts.scores.published_leaderboard import convert_to_fractions
from workflow_scripts.stats.item_errors import (
    ItemErrors,
    append_unmeasured_models,
    build_assumed_errors,
)
from workflow_scripts.stats.reruns import (
    Reruns,
    compute_rerun_differences,
    estimate_rerun_errors,
    subtract_task_lines,
)
from workflow_scripts.stats.score_errors import ScoreErrors
from workflow_scripts.studies.ranking.frame import DIRECT, TRAINED
from workflow_scripts.studies.ranking.grid_settings import GridSettings

_ROW = ["protocol", "label"]


class Cells(NamedTuple):
    """One protocol of a grid: the mean over seeds of each cell, with labels in rows and tasks in columns."""

    value: pd.DataFrame
    stderr: pd.DataFrame
    between: pd.DataFrame
    """Variance over seeds; NaN for a single seed."""
    seeds: pd.DataFrame
    models: pd.DataFrame
    """Model attributes by label, as in `Grid`."""
    absent: pd.DataFrame


def combine_errors(
    parts: Mapping[str, Cells],
    settings: GridSettings,
    correlations: Mapping[str, float],
    measured: pd.DataFrame | None,
    reruns: Reruns | None,
) -> dict[str, ScoreErrors]:
    """Combine the errors by protocol; all protocols share the items of a task.

    `correlations` has by task the correlation of two models' correctness over published items, `measured` the errors
    from items, one row per protocol, label and task. `reruns` is used if each cell is trained once.
    """
    tasks = dict.fromkeys(task for cells in parts.values() for task in cells.value)
    usual = float(np.median(list(correlations.values() or [0.0])))
    items = {
        task: _combine_items(task, parts, correlations.get(task, usual), measured) for task in tasks
    }
    combined = {}
    for stream, (protocol, cells) in enumerate(parts.items()):
        rows = pd.MultiIndex.from_product([[protocol], cells.value.index])
        by_task = {}
        for task in cells.value:
            index, errors = items[task]
            by_task[task] = errors.part(index.get_indexer(rows))
        training = cells.value * 0.0
        if (cells.seeds > 1).to_numpy().any():
            training = estimate_seed_errors(cells.between, cells.seeds)
        elif reruns and settings.protocols[protocol].after_training:
            training = reruns.spread(cells.models["model"], list(cells.value))
        training = training.reindex_like(cells.value).fillna(0.0)
        combined[protocol] = ScoreErrors(cells.value, by_task, training, stream)
    return combined


def _combine_items(
    task: str, parts: Mapping[str, Cells], correlation: float, measured: pd.DataFrame | None
) -> tuple[pd.MultiIndex, ItemErrors]:
    """Combine one task's item errors of all protocols; rows are protocol and label."""
    columns = {key: cells.stderr[task] for key, cells in parts.items() if task in cells.stderr}
    others = pd.concat(columns, names=_ROW)
    if measured is None or task not in set(measured["task"]):
        return others.index, build_assumed_errors(others.to_numpy(), correlation)
    index, errors = get_row_errors(measured[measured["task"] == task], _ROW)
    others = others[~others.index.isin(index)]
    if others.empty:
        return index, errors
    errors = append_unmeasured_models(errors, others.to_numpy(), correlation)
    return index.append(others.index), errors


def estimate_seed_errors(between: pd.DataFrame, seeds: pd.DataFrame) -> pd.DataFrame:
    """Compute the standard error of each mean over seeds from training, using the variances between seeds.

    The variance of a task is pooled over its models, and its logarithm is shrunk towards the mean of all tasks by
    its uncertainty (the logarithm of s^2 with d degrees of freedom has a variance of about 2 / d).
    """
    freedom = (seeds - 1).where(between.notna()).sum()
    freedom = freedom.where(freedom > 0)
    logs = np.log(((between * (seeds - 1)).sum() / freedom).clip(lower=1e-12))
    uncertain = 2 / freedom
    apart = max(float(logs.var(ddof=0) - uncertain.mean()), 0.0)
    shrunk = (logs * apart + logs.mean() * uncertain) / (apart + uncertain)
    return np.sqrt(np.exp(shrunk.fillna(logs.mean())) / seeds)


def estimate_reruns(
    leaderboard: pd.DataFrame, cells: pd.DataFrame, models: list[dict[str, Any]]
) -> Reruns:
    """Estimate the retraining noise from the authors' two releases of the published grid.

    The releases are two runs of 61 models on 24 tasks. `leaderboard` is the wide table of their README, in percent;
    `cells` is the long table published with their code, in fractions.
    """
    differences = compute_rerun_differences(*read_releases(leaderboard, cells))
    return estimate_rerun_errors(differences, pd.DataFrame(models).set_index("model"))


def estimate_trainings(
    first: pd.DataFrame, second: pd.DataFrame, zero_shot: pd.DataFrame, models: pd.DataFrame
) -> Reruns:
    """Estimate from two releases the retraining noise of single models, without shifts that models share."""
    levels = (first + second.reindex_like(first)) / 2
    return estimate_rerun_errors(
        subtract_task_lines(compute_rerun_differences(first, second, zero_shot), levels), models
    )


def read_releases(
    leaderboard: pd.DataFrame, cells: pd.DataFrame, direct: str = DIRECT, trained: str = TRAINED
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return both releases' scores after training and the direct scores, as fractions by model and task."""
    wide = cells.astype({"value": float}).pivot(
        index="model", columns=["protocol", "task"], values="value"
    )
    return convert_to_fractions(leaderboard.set_index("model")), wide[trained], wide[direct]
