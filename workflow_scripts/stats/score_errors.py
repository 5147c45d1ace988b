"""How else scores could have come out: with other items, which all models share, or another training.

Everything that tells how sure a number is takes its draws and its errors of differences from here:
tests, intervals, ceilings, ranges of ranks.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from workflow_scripts.stats.item_errors import ItemErrors

# Another training moves most scores by little, and some that did not learn by much. Student's t of so many
# degrees of freedom has the middle and the ends of what the published releases differ by, in units in which
# it exceeds as often what a normal number exceeds in 4 % (`Reruns.spread` is set by that share).
_STRAYING = 4
_SIZE_OF_T = 1.46
# Models, of more of which so many are drawn again where all of them would say the same.
SAMPLE = 200


@dataclass(frozen=True)
class ScoreErrors:
    """Scores, models down and tasks across, and what each is uncertain by.

    `training` has the standard deviation of a score over trainings, 0 where nothing is trained or
    nothing is known of it. `stream` tells the protocols of one grid apart: drawn with one seed, they
    get the same items, and each its own trainings.
    """

    scores: pd.DataFrame
    items: Mapping[str, ItemErrors]
    training: pd.DataFrame
    stream: int = 0

    @property
    def items_alone(self) -> pd.DataFrame:
        """Standard errors of each score by itself from items; NaN where none is known."""
        errors = {task: np.sqrt(self.items[task].variances) for task in self.scores}
        return pd.DataFrame(errors, *self.scores.axes).where(self.scores.notna())

    @property
    def stderrs(self) -> pd.DataFrame:
        """From items and trainings."""
        return np.sqrt(self.items_alone**2 + self.training**2)

    @property
    def are_known(self) -> bool:
        """Whether every score that is there has an error."""
        return not (self.scores.notna() & self.stderrs.isna()).to_numpy().any()

    def drawn(self, draws: int, seed: int) -> Iterator[np.ndarray]:
        """The scores again and again, with other items for all models and another training of each.

        A cell without an error is NaN in every draw: what is not known is not drawn.
        """
        values, spread = self.scores.to_numpy(dtype=float), self.training.to_numpy(dtype=float)
        of_items = np.random.default_rng(seed)
        of_each = np.random.default_rng([seed, 1 + self.stream])
        for _ in range(draws):
            own = of_each.standard_normal(values.shape)
            trained = of_each.standard_t(_STRAYING, values.shape) / _SIZE_OF_T
            drawn = values + spread * trained
            for at, task in enumerate(self.scores):
                common = of_items.standard_normal((self.items[task].shared.shape[1],))
                drawn[:, at] += self.items[task].drawn(common, own[:, at])
            yield drawn

    def of_differences(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Standard errors of first minus second on each task, of models by their places: pairs down.

        These are lengths of differences of what is drawn, so that of three models the error between the
        outer two is at most the sum of the other two errors.
        """
        spread = self.training.to_numpy(dtype=float) ** 2
        apart = np.where((first == second)[:, None], 0.0, spread[first] + spread[second])
        for at, task in enumerate(self.scores):
            apart[:, at] += self.items[task].of_difference(first, second)
        return np.sqrt(apart)

    def of_mean_differences(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """The same of the mean over the tasks that both have: these have items and trainings of their own."""
        known = self.scores.notna().to_numpy()
        known = known[first] & known[second]
        variances = np.where(known, self.of_differences(first, second) ** 2, 0.0).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.sqrt(variances) / known.sum(axis=1)

    def part(self, scores: pd.DataFrame) -> "ScoreErrors":
        """Of these scores, some of its models on some of its tasks, with some cells left out perhaps."""
        rows = self.scores.index.get_indexer(scores.index)
        items = {task: self.items[task].part(rows) for task in scores}
        training = self.training.reindex_like(scores)
        return ScoreErrors(scores, items, training, self.stream)

    def sampled(self) -> "ScoreErrors":
        """Of many models a sample, the same for any grid with as many."""
        count = len(self.scores)
        if count <= SAMPLE:
            return self
        chosen = np.random.default_rng(0).choice(count, SAMPLE, replace=False)
        return self.part(self.scores.iloc[np.sort(chosen)])

    def floored_by(self, floor: "ScoreErrors", scores: pd.DataFrame) -> "ScoreErrors":
        """Of `scores`, each the better of this and the floor's, where both are known."""
        higher = floor.scores.reindex_like(scores) > self.scores.reindex_like(scores)
        raw, floor = self.part(scores), floor.part(scores)
        items = {
            task: raw.items[task].where(~higher[task].to_numpy(), floor.items[task])
            for task in scores
        }
        training = raw.training.mask(higher, floor.training)
        return ScoreErrors(scores, items, training, self.stream)
