"""Model the errors of scores: from the sampling of items, which all models share, and between training runs.

Tests, intervals, ceilings and rank intervals all take their samples and errors of differences from here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from workflow_scripts.stats.item_errors import ItemErrors

# Retraining changes most scores little, and a few a lot (models that do not learn). Student's t with _TRAINING_DF
# degrees of freedom fits the centre and tails of the differences between published releases. Divided by _T_SCALE
# it has the same 4 % tails as a normal distribution, on which `RetrainingNoise.estimate_stderrs` is based.
_TRAINING_DF = 4
_T_SCALE = 1.46
# Of more models, a random subset of this size is resampled where all of them would give nearly the same result.
_MAX_RESAMPLED_MODELS = 200


@dataclass(frozen=True)
class ScoreErrors:
    """Scores, with models in rows and tasks in columns, and their errors.

    `item_errors` has the errors of each task from the sampling of its items. `training_sd` has the standard deviation
    of a score over training runs, 0 if the model is not trained or it is unknown. `stream` identifies the protocol
    within a grid: sampled with the same seed, protocols get the same items but independent training runs.
    """

    scores: pd.DataFrame
    item_errors: Mapping[str, ItemErrors]
    training_sd: pd.DataFrame
    stream: int = 0

    @property
    def item_stderrs(self) -> pd.DataFrame:
        """Standard errors of the scores from items; NaN where unknown."""
        errors = {task: np.sqrt(self.item_errors[task].variances) for task in self.scores}
        return pd.DataFrame(errors, *self.scores.axes).where(self.scores.notna())

    @property
    def stderrs(self) -> pd.DataFrame:
        """Standard errors of the scores from items and training."""
        return np.sqrt(self.item_stderrs**2 + self.training_sd**2)

    @property
    def are_known(self) -> bool:
        """Whether every score has an error."""
        return not (self.scores.notna() & self.stderrs.isna()).to_numpy().any()

    def draw_scores(self, draws: int, seed: int) -> Iterator[np.ndarray]:
        """Sample the scores with new items for all models and a new training run of each.

        A cell with an unknown error is NaN in every sample.
        """
        values = self.scores.to_numpy(dtype=float)
        training_sd = self.training_sd.to_numpy(dtype=float)
        items_rng = np.random.default_rng(seed)
        model_rng = np.random.default_rng([seed, 1 + self.stream])
        for _ in range(draws):
            noise = model_rng.standard_normal(values.shape)
            retraining = model_rng.standard_t(_TRAINING_DF, values.shape) / _T_SCALE
            sample = values + training_sd * retraining
            for column, task in enumerate(self.scores):
                errors = self.item_errors[task]
                factors = items_rng.standard_normal(errors.shared.shape[1:])
                sample[:, column] += errors.draw_changes(factors, noise[:, column])
            yield sample

    def compute_difference_stderrs(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Compute standard errors of first minus second (models by position), with pairs in rows, tasks in columns.

        The models of a pair are different. The errors satisfy the triangle inequality: for three models, the error
        of one difference is at most the sum of the other two.
        """
        training_variance = self.training_sd.to_numpy(dtype=float) ** 2
        variance = training_variance[first] + training_variance[second]
        for column, task in enumerate(self.scores):
            variance[:, column] += self.item_errors[task].compute_difference_variance(first, second)
        return np.sqrt(variance)

    def compute_mean_difference_stderrs(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Compute standard errors of the mean difference over the tasks that both have, which are independent."""
        measured = self.scores.notna().to_numpy()
        shared = measured[first] & measured[second]
        variances = self.compute_difference_stderrs(first, second) ** 2
        variance_of_sum = np.where(shared, variances, 0.0).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.sqrt(variance_of_sum) / shared.sum(axis=1)

    def select(self, scores: pd.DataFrame) -> "ScoreErrors":
        """Select the errors of these scores: a subset of the models and tasks, possibly with missing cells."""
        rows = self.scores.index.get_indexer(scores.index)
        item_errors = {task: self.item_errors[task].select(rows) for task in scores}
        training_sd = self.training_sd.reindex_like(scores)
        return ScoreErrors(scores, item_errors, training_sd, self.stream)

    def subsample(self) -> "ScoreErrors":
        """Select _MAX_RESAMPLED_MODELS models at random if there are more; which ones depends only on their number."""
        count = len(self.scores)
        if count <= _MAX_RESAMPLED_MODELS:
            return self
        rows = np.random.default_rng(0).choice(count, _MAX_RESAMPLED_MODELS, replace=False)
        return self.select(self.scores.iloc[np.sort(rows)])
