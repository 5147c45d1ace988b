"""By how much a score moves when a model is trained again."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from workflow_scripts.scores.foreign.cells import KnownModel
from workflow_scripts.scores.published_leaderboard import as_fractions
from workflow_scripts.stats.reruns import Reruns, differences_of, reordering, reruns_of
from workflow_scripts.studies.ranking.frame import DIRECT, TRAINED


def published_reruns(
    leaderboard: pd.DataFrame, cells: pd.DataFrame, models: Iterable[KnownModel]
) -> Reruns:
    """What the authors' own two releases of their grid say about a third run of it.

    From the two files as they are: the leaderboard of their README, a wide table in percent, and the
    scores beside their code, a long one in fractions. They are two runs of 61 models on 24 tasks.
    """
    return reruns_of(differences_of(*_released(leaderboard, cells)), _by_name(models))


def published_trainings(
    leaderboard: pd.DataFrame, cells: pd.DataFrame, models: Iterable[KnownModel]
) -> Reruns:
    """The same of what trainings alone move, one model and not the other: for tests and orders of models."""
    return trainings_of(*_released(leaderboard, cells), _by_name(models))


def trainings_of(
    first: pd.DataFrame, second: pd.DataFrame, floor: pd.DataFrame, models: pd.DataFrame
) -> Reruns:
    """From two releases of scores after training."""
    levels = (first + second.reindex_like(first)) / 2
    return reruns_of(reordering(differences_of(first, second, floor), levels), models)


def _released(
    leaderboard: pd.DataFrame, cells: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    by_protocol = {
        protocol: rows.pivot(index="model", columns="task", values="value")
        for protocol, rows in cells.groupby("protocol")
    }
    first = as_fractions(leaderboard.set_index("model"))
    return first, by_protocol[TRAINED], by_protocol[DIRECT]


def _by_name(models: Iterable[KnownModel]) -> pd.DataFrame:
    return pd.DataFrame(map(dict, models)).set_index("model")


def spread_of_seeds(between: pd.DataFrame, seeds: pd.DataFrame) -> pd.DataFrame:
    """The standard error that trainings give each mean over seeds, from the variances between them.

    A task's variance is that of its models together, drawn towards the mean of all tasks by how
    uncertain its logarithm is (that of s^2 with d degrees of freedom has the variance 2 / d, nearly).
    """
    freedom = (seeds - 1).where(between.notna()).sum()
    pooled = (between * (seeds - 1)).sum() / freedom.where(freedom > 0)
    logs = np.log(pooled.clip(lower=1e-12))
    uncertain = 2 / freedom.where(freedom > 0)
    apart = max(float(logs.var(ddof=0) - uncertain.mean()), 0.0)
    shrunk = (logs * apart + logs.mean() * uncertain) / (apart + uncertain)
    return np.sqrt(np.exp(shrunk.fillna(logs.mean())) / seeds)
