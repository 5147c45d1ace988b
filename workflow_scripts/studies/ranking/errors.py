"""Estimate what the scores of a grid are uncertain by: items that its models share, and trainings of their own."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.scores.foreign.cells import KnownModel
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
    """Hold one protocol of a grid: labels down, tasks across, the mean over seeds of each cell."""

    value: pd.DataFrame
    stderr: pd.DataFrame
    between: pd.DataFrame
    """Variance over seeds; NaN of a single one."""
    seeds: pd.DataFrame
    models: pd.DataFrame
    """By label, as those of a Grid."""
    absent: pd.DataFrame


class KnownErrors(NamedTuple):
    """Hold what is known of a grid's errors beside the standard errors of its scores."""

    correlations: Mapping[str, float]
    """By task, how right answers of two models correlate over items that others released."""
    measured: pd.DataFrame | None = None
    """From items: a row for each protocol, label and task, as scores.influences has them."""
    reruns: Reruns | None = None
    """Where each cell is trained once: what two releases of one grid say of a training."""


def combine_errors(
    parts: Mapping[str, Cells], settings: GridSettings, sources: KnownErrors
) -> dict[str, ScoreErrors]:
    """Combine the errors by protocol; under all protocols a task's models were asked the same items."""
    tasks = dict.fromkeys(task for cells in parts.values() for task in cells.value)
    items = {task: _combine_items(task, parts, sources) for task in tasks}
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
        elif sources.reruns and settings.grid.protocols[protocol].after_training:
            training = sources.reruns.spread(cells.models["model"], list(cells.value))
        training = training.reindex_like(cells.value).fillna(0.0)
        combined[protocol] = ScoreErrors(cells.value, by_task, training, stream)
    return combined


def _combine_items(
    task: str, parts: Mapping[str, Cells], sources: KnownErrors
) -> tuple[pd.MultiIndex, ItemErrors]:
    """Combine all protocols at once: rows are protocol and label."""
    columns = {key: cells.stderr[task] for key, cells in parts.items() if task in cells.stderr}
    others = pd.concat(columns, names=_ROW)
    usual = np.median(list(sources.correlations.values() or [0.0]))
    correlation = sources.correlations.get(task, float(usual))
    measured = sources.measured
    if measured is None or task not in set(measured["task"]):
        return others.index, build_assumed_errors(others.to_numpy(), correlation)
    index, errors = get_row_errors(measured[measured["task"] == task], _ROW)
    others = others[~others.index.isin(index)]
    if others.empty:
        return index, errors
    return index.append(others.index), append_unmeasured_models(
        errors, others.to_numpy(), correlation
    )


def estimate_seed_errors(between: pd.DataFrame, seeds: pd.DataFrame) -> pd.DataFrame:
    """Compute the standard error that trainings give each mean over seeds, from the variances between them.

    A task's variance is that of its models together, drawn towards the mean of all tasks by how
    uncertain its logarithm is (that of s^2 with d degrees of freedom has the variance 2 / d, nearly).
    """
    freedom = (seeds - 1).where(between.notna()).sum()
    freedom = freedom.where(freedom > 0)
    logs = np.log(((between * (seeds - 1)).sum() / freedom).clip(lower=1e-12))
    uncertain = 2 / freedom
    apart = max(float(logs.var(ddof=0) - uncertain.mean()), 0.0)
    shrunk = (logs * apart + logs.mean() * uncertain) / (apart + uncertain)
    return np.sqrt(np.exp(shrunk.fillna(logs.mean())) / seeds)


def estimate_reruns(
    leaderboard: pd.DataFrame, cells: pd.DataFrame, models: Iterable[KnownModel]
) -> Reruns:
    """Estimate from the authors' own two releases of their grid how far a third run of it would be.

    From the two files as they are: the leaderboard of their README, a wide table in percent, and the
    scores beside their code, a long one in fractions. They are two runs of 61 models on 24 tasks.
    """
    about = pd.DataFrame(map(dict, models)).set_index("model")
    return estimate_rerun_errors(
        compute_rerun_differences(*read_releases(leaderboard, cells)), about
    )


def estimate_trainings(
    first: pd.DataFrame, second: pd.DataFrame, zero_shot: pd.DataFrame, models: pd.DataFrame
) -> Reruns:
    """Estimate from two releases what trainings alone move, one model and not the other."""
    levels = (first + second.reindex_like(first)) / 2
    return estimate_rerun_errors(
        subtract_task_lines(compute_rerun_differences(first, second, zero_shot), levels), models
    )


def read_releases(
    leaderboard: pd.DataFrame, cells: pd.DataFrame, direct: str = DIRECT, trained: str = TRAINED
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Read both releases after training, and the direct scores, by model and task as fractions."""
    wide = cells.astype({"value": float}).pivot(
        index="model", columns=["protocol", "task"], values="value"
    )
    return convert_to_fractions(leaderboard.set_index("model")), wide[trained], wide[direct]
