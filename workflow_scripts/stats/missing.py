"""Estimate the missing scores of a grid from the measured ones, with standard errors."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.em_imputation import impute_normal
from workflow_scripts.stats.item_errors import ItemErrors
from workflow_scripts.stats.score_errors import ScoreErrors

FEWEST = 3  # fewest scores of a model or task for which missing ones are estimated
_NEIGHBOURS = 5  # nearest scores that give an unknown standard error


class Completed(NamedTuple):
    """Scores with estimates for the missing ones."""

    errors: ScoreErrors
    """The scores and their errors; an estimate has the prediction error."""
    filled: pd.DataFrame
    """Whether the score was estimated."""

    def imputed(self, draws: int, seed: int) -> Iterator[pd.DataFrame]:
        """Sample each estimate within its error; measured scores do not change."""
        generator, spread = np.random.default_rng(seed), self.errors.stderrs.where(self.filled, 0.0)
        for _ in range(draws):
            yield self.errors.scores + spread * generator.standard_normal(spread.shape)


def complete(errors: ScoreErrors) -> Completed:
    """Estimate the missing cells of models (rows) on tasks (columns).

    Models are assumed to follow a normal distribution over the standardised tasks, with a covariance estimated from
    the measured cells (`impute_normal`). Models with fewer than three scores or on fewer than half of the tasks, and
    tasks with fewer than three scores, are not changed. A measured score without an item standard error gets the
    median error of the five nearest scores on its task, or none if the task has fewer than three errors. These errors
    and those of estimates are independent between models.
    """
    scores = errors.scores.astype(float)
    models = scores.count(axis=1) >= max(FEWEST, scores.shape[1] / 2)
    tasks = scores[models].count() >= FEWEST
    part, estimated = scores.loc[models, tasks], scores * np.nan
    if part.isna().to_numpy().any():
        scores.loc[models, tasks], estimated.loc[models, tasks] = impute_normal(part.to_numpy())
    filled, items = estimated.notna(), {}
    for task, values in errors.scores.items():
        measured = errors.items[task]
        stderrs = np.sqrt(measured.variances)
        own = _fill_errors(values.to_numpy(float), stderrs)
        own = np.where(filled[task], estimated[task], own)
        alone = ItemErrors(np.zeros_like(measured.shared), own)
        items[task] = measured.where(~np.isnan(stderrs) & ~filled[task].to_numpy(), alone)
    training = errors.training.mask(filled, 0.0)
    return Completed(ScoreErrors(scores, items, training, errors.stream), filled)


def _fill_errors(values: np.ndarray, errors: np.ndarray) -> np.ndarray:
    measured = ~np.isnan(values) & ~np.isnan(errors)
    result = errors.copy()
    if measured.sum() >= FEWEST:
        for row in np.flatnonzero(~np.isnan(values) & np.isnan(errors)):
            nearest = np.abs(values[measured] - values[row]).argsort(kind="stable")
            result[row] = np.median(errors[measured][nearest[:_NEIGHBOURS]])
    return result
