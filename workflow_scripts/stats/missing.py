"""Estimate the missing scores of a grid from the measured ones, with standard errors."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.em_imputation import impute_normal
from workflow_scripts.stats.item_errors import ItemErrors
from workflow_scripts.stats.score_errors import ScoreErrors

MIN_SCORES = 3  # fewest scores of a model or task for which missing ones are estimated
_NEIGHBOURS = 5  # nearest scores whose median error replaces an unknown standard error


class Completed(NamedTuple):
    """Scores with estimates for the missing ones."""

    errors: ScoreErrors
    """The scores and their errors; an estimate has the prediction error."""
    filled: pd.DataFrame
    """Whether the score was estimated."""

    def draw_imputations(self, draws: int, seed: int) -> Iterator[pd.DataFrame]:
        """Sample each estimate within its error; measured scores do not change."""
        generator = np.random.default_rng(seed)
        spread = self.errors.stderrs.where(self.filled, 0.0)
        for _ in range(draws):
            yield self.errors.scores + spread * generator.standard_normal(spread.shape)


def complete_scores(errors: ScoreErrors) -> Completed:
    """Estimate the missing cells of models (rows) on tasks (columns).

    Models are assumed to follow a normal distribution over the standardised tasks, with a covariance estimated from
    the measured cells (`impute_normal`). Models with fewer than three scores or on fewer than half of the tasks, and
    tasks with fewer than three scores, are not changed. A measured score without an item standard error gets the
    median error of the five nearest scores on its task, or none if the task has fewer than three errors. These errors
    and those of estimates are independent between models.
    """
    scores = errors.scores.astype(float)
    models = scores.count(axis=1) >= max(MIN_SCORES, scores.shape[1] / 2)
    tasks = scores[models].count() >= MIN_SCORES
    values = scores.loc[models, tasks].to_numpy()
    imputed_stderrs = scores * np.nan
    if np.isnan(values).any():
        scores.loc[models, tasks], imputed_stderrs.loc[models, tasks] = impute_normal(values)
    filled = imputed_stderrs.notna()
    item_errors = {}
    for task, measured_scores in errors.scores.items():
        measured = errors.item_errors[task]
        stderrs = np.sqrt(measured.variances)
        all_stderrs = _fill_stderrs(measured_scores.to_numpy(float), stderrs)
        all_stderrs = np.where(filled[task], imputed_stderrs[task], all_stderrs)
        independent = ItemErrors(np.zeros_like(measured.shared), all_stderrs)
        item_errors[task] = measured.where(
            ~np.isnan(stderrs) & ~filled[task].to_numpy(), independent
        )
    training_sd = errors.training_sd.mask(filled, 0.0)
    return Completed(ScoreErrors(scores, item_errors, training_sd, errors.stream), filled)


def _fill_stderrs(scores: np.ndarray, stderrs: np.ndarray) -> np.ndarray:
    """Give each score without a standard error the median error of the nearest scores on its task."""
    measured = ~np.isnan(scores) & ~np.isnan(stderrs)
    result = stderrs.copy()
    if measured.sum() >= MIN_SCORES:
        for row in np.flatnonzero(~np.isnan(scores) & np.isnan(stderrs)):
            nearest = np.abs(scores[measured] - scores[row]).argsort(kind="stable")
            result[row] = np.median(stderrs[measured][nearest[:_NEIGHBOURS]])
    return result
