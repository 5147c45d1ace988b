"""Which few tasks say most, for their price, about how models rank on all."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd

from workflow_scripts.stats.principal import component_loadings

# Of the correlations of tasks, what is taken to be chance: few models, which come in fewer families.
_SHRINKAGE = 0.1


class _Known:
    """How much of the first principal component sets of tasks tell.

    With the correlations R of the tasks, drawn a tenth of the way to those of tasks that have nothing in
    common, and the component's loadings b, models that are measured on the tasks S leave the variance
    b'Rb - (Rb)_S' R_SS^-1 (Rb)_S of it. Only the correlations are asked, and not which tasks would have
    predicted these very models best: of thousands of sets the best one is best by luck, and models of a
    further family are predicted worse by it.
    """

    def __init__(self, scores: pd.DataFrame) -> None:
        self.share = (1 - _SHRINKAGE) * np.corrcoef(scores.to_numpy(dtype=float), rowvar=False)
        self.share += _SHRINKAGE * np.eye(scores.shape[1])
        self.with_all = (
            self.share @ component_loadings(scores)["PC1"].reindex(scores.columns).to_numpy()
        )

    def by(self, sets: np.ndarray) -> np.ndarray:
        """Of sets of one size in rows."""
        parts = self.share[sets[:, :, None], sets[:, None, :]]
        weights = np.linalg.solve(parts, self.with_all[sets][..., None])[..., 0]
        return (self.with_all[sets] * weights).sum(axis=1)


def chosen(scores: pd.DataFrame, prices: pd.Series, budget: float) -> list[str]:
    """The tasks of at most this price that leave least of the first principal component uncertain.

    Beginning with none, the task is added, put in one's place or put with a second one in one's place that
    leaves least, until no such step leaves less.
    """
    tasks = list(scores.columns)
    price, known = prices.reindex(tasks).to_numpy(dtype=float), _Known(scores)
    best: tuple[int, ...] = ()
    most = 0.0
    while True:
        further = best
        for sets in _steps(best, len(tasks)):
            sets = sets[price[sets].sum(axis=1) <= budget]
            if not len(sets):
                continue
            told = known.by(sets)
            if told.max() > most + 1e-9:
                most, further = float(told.max()), tuple(sets[told.argmax()])
        if further == best:
            return [tasks[at] for at in best]
        best = further


def _steps(taken: tuple[int, ...], count: int) -> Iterator[np.ndarray]:
    """Sets of tasks in rows: those with one more, with one for another, and with two for another."""
    others = [at for at in range(count) if at not in taken]
    kept = [tuple(at for at in taken if at != out) for out in taken]
    more = [(*taken, one) for one in others]
    more += [(*rest, *pair) for rest in kept for pair in combinations(others, 2)]
    instead = [(*rest, one) for rest in kept for one in others]
    yield from (np.sort(np.array(sets), axis=1) for sets in (more, instead) if sets)


def cheapest(prices: pd.Series, budget: float) -> list[str]:
    """As many tasks of at most this price together as there can be."""
    ordered = prices.sort_values(kind="stable")
    return list(ordered.index[ordered.cumsum() <= budget])


def at_random(prices: pd.Series, budget: float, generator: np.random.Generator) -> list[str]:
    """One after the other in random order, each that is still paid for."""
    taken, left = [], budget
    for task in generator.permutation(prices.index):
        if prices[task] <= left:
            taken.append(str(task))
            left -= prices[task]
    return taken
