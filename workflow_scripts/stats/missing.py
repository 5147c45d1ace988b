"""Missing cells of a grid: scores estimated from the others, each with how sure that is, and their errors."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.item_errors import ItemErrors
from workflow_scripts.stats.normal_rows import estimated
from workflow_scripts.stats.score_errors import ScoreErrors

FEWEST = 3  # scores of a model and of a task, below which none is estimated of it
NEAREST = 5  # scores, whose errors stand for one that is not known


class Completed(NamedTuple):
    """Scores with what could be estimated in the place of what was missing."""

    errors: ScoreErrors
    """The scores, and what they are uncertain by: of a filled one, what would have been measured there."""
    filled: pd.DataFrame
    """Whether the score was estimated."""

    def imputed(self, draws: int, seed: int) -> Iterator[pd.DataFrame]:
        """Draw each filled score within its error; those that were measured stay as they are."""
        generator, moved = np.random.default_rng(seed), self.errors.stderrs.where(self.filled, 0.0)
        for _ in range(draws):
            yield self.errors.scores + moved * generator.standard_normal(moved.shape)


def complete(errors: ScoreErrors) -> Completed:
    """Estimate the missing cells of models (rows) on tasks (columns).

    Models are drawn from a normal distribution over the standardised tasks, whose covariance is learnt from
    the cells that are there (`estimated`). A model with fewer than three scores, or on fewer than half of
    the tasks, stays as it is, and so does a task with fewer than three scores: too little would be estimated
    from too little. An error of items that is missing of a score that is there is the median of those of the
    five scores on its task that are nearest; it stays missing where the task has fewer than three. It is
    taken for that score's own, as is what an estimate is uncertain by.
    """
    scores = errors.scores.astype(float)
    models = scores.count(axis=1) >= max(FEWEST, scores.shape[1] / 2)
    tasks = scores[models].count() >= FEWEST
    part = scores.loc[models, tasks]
    unsure = scores * np.nan
    if part.isna().to_numpy().any():
        scores.loc[models, tasks], unsure.loc[models, tasks] = estimated(part.to_numpy())
    filled, items = unsure.notna(), {}
    for task, values in errors.scores.items():
        measured = errors.items[task]
        own = _add_likely_errors(values.to_numpy(float), np.sqrt(measured.variances))
        own = np.where(filled[task], unsure[task], own)
        alone = ItemErrors(np.zeros_like(measured.shared), own)
        items[task] = measured.where(
            ~np.isnan(measured.variances) & ~filled[task].to_numpy(), alone
        )
    training = errors.training.mask(filled, 0.0)
    return Completed(ScoreErrors(scores, items, training, errors.stream), filled)


def _add_likely_errors(values: np.ndarray, errors: np.ndarray) -> np.ndarray:
    known = ~np.isnan(values) & ~np.isnan(errors)
    likely = errors.copy()
    if known.sum() >= FEWEST:
        for at in np.flatnonzero(~np.isnan(values) & np.isnan(errors)):
            nearest = np.argsort(np.abs(values[known] - values[at]), kind="stable")[:NEAREST]
            likely[at] = np.median(errors[known][nearest])
    return likely
