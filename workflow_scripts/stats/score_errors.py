"""The error model: how scores change with other items, which all models share, or with another training.

Tests, intervals, ceilings and ranges of ranks all take their samples and their errors of differences from here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from workflow_scripts.stats.item_errors import ItemErrors

# Another training moves most scores by little, and some that did not learn by much. Student's t of so many
# degrees of freedom has the middle and the ends of what the published releases differ by, in units in which
# it exceeds as often what a normal number exceeds in 4 % (`Reruns.spread` is set by that share).
_TRAINING_DF = 4
_T_SCALE = 1.46
# Of more models a sample of so many is redrawn where all of them would give the same result.
SAMPLE = 200


@dataclass(frozen=True)
class ScoreErrors:
    """Scores, models down and tasks across, and their errors.

    `training` has the standard deviation of a score over trainings, 0 where nothing is trained or
    nothing is known of it. `stream` separates the protocols of one grid: redrawn with one seed, they
    get the same items, and each its own trainings.
    """

    scores: pd.DataFrame
    items: Mapping[str, ItemErrors]
    training: pd.DataFrame
    stream: int = 0

    @property
    def item_stderrs(self) -> pd.DataFrame:
        """Standard errors of the scores from items; NaN where unknown."""
        errors = {task: np.sqrt(self.items[task].variances) for task in self.scores}
        return pd.DataFrame(errors, *self.scores.axes).where(self.scores.notna())

    @property
    def stderrs(self) -> pd.DataFrame:
        """Standard errors of the scores from items and trainings."""
        return np.sqrt(self.item_stderrs**2 + self.training**2)

    @property
    def are_known(self) -> bool:
        """Whether every score has an error."""
        return not (self.scores.notna() & self.stderrs.isna()).to_numpy().any()

    def drawn(self, draws: int, seed: int) -> Iterator[np.ndarray]:
        """Redraw the scores, with other items for all models and another training of each.

        A cell of unknown error is NaN in every sample.
        """
        values, spread = self.scores.to_numpy(dtype=float), self.training.to_numpy(dtype=float)
        items_rng = np.random.default_rng(seed)
        model_rng = np.random.default_rng([seed, 1 + self.stream])
        for _ in range(draws):
            own = model_rng.standard_normal(values.shape)
            sample = values + spread * (model_rng.standard_t(_TRAINING_DF, values.shape) / _T_SCALE)
            for column, task in enumerate(self.scores):
                errors = self.items[task]
                common = items_rng.standard_normal(errors.shared.shape[1:])
                sample[:, column] += errors.drawn(common, own[:, column])
            yield sample

    def compute_difference_stderrs(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Compute standard errors of first minus second on each task, of models by position: pairs down.

        These are lengths of differences of samples, so that of three models the error between the
        outer two is at most the sum of the other two errors.
        """
        training = self.training.to_numpy(dtype=float) ** 2
        variance = np.where((first == second)[:, None], 0.0, training[first] + training[second])
        for column, task in enumerate(self.scores):
            variance[:, column] += self.items[task].compute_difference_variance(first, second)
        return np.sqrt(variance)

    def compute_mean_difference_stderrs(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Compute the same of the mean over the tasks that both have, whose errors are independent."""
        measured = self.scores.notna().to_numpy()
        shared = measured[first] & measured[second]
        variances = np.where(shared, self.compute_difference_stderrs(first, second) ** 2, 0.0).sum(
            axis=1
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.sqrt(variances) / shared.sum(axis=1)

    def part(self, scores: pd.DataFrame) -> "ScoreErrors":
        """Select the errors of these scores: some of the models and tasks, some cells perhaps missing."""
        rows = self.scores.index.get_indexer(scores.index)
        items = {task: self.items[task].part(rows) for task in scores}
        return ScoreErrors(scores, items, self.training.reindex_like(scores), self.stream)

    def sampled(self) -> "ScoreErrors":
        """Sample SAMPLE of more models, the same ones of any grid with as many."""
        count = len(self.scores)
        if count <= SAMPLE:
            return self
        rows = np.random.default_rng(0).choice(count, SAMPLE, replace=False)
        return self.part(self.scores.iloc[np.sort(rows)])

    def clipped_by(self, zero_shot: "ScoreErrors", scores: pd.DataFrame) -> "ScoreErrors":
        """Take for each of `scores` the errors of the better of this and of the zero-shot scores, where both exist."""
        higher = zero_shot.scores.reindex_like(scores) > self.scores.reindex_like(scores)
        raw, zero_shot = self.part(scores), zero_shot.part(scores)
        items = {
            task: zero_shot.items[task].where(higher[task].to_numpy(), raw.items[task])
            for task in scores
        }
        return ScoreErrors(
            scores, items, raw.training.mask(higher, zero_shot.training), self.stream
        )
