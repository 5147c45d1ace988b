"""How tasks order models: Kendall's tau-b, of not too many models by a bit for every two of them."""

from typing import NamedTuple

import numpy as np

_WORD = 64
# Models, beyond which sorting is quicker than a bit for every two: the bits no longer fit a processor's cache.
_MANY = 1000


class Orders(NamedTuple):
    """For each task a set of models, packed into words of bits, for each model.

    Every pair of models stands in there twice, once for each of the two: counts are of twice the pairs.
    """

    below: np.ndarray
    """The models that score lower."""
    apart: np.ndarray
    """The models that score lower or higher."""
    known: np.ndarray
    """By task the models that have a score, as a set and, below, one by one."""
    has_score: np.ndarray
    tied: np.ndarray
    """By task whether any two models score the same."""

    @property
    def above(self) -> np.ndarray:
        """The models that score higher."""
        return self.apart & ~self.below


def kendall(values: np.ndarray) -> np.ndarray:
    """Kendall's tau-b between any two columns (tasks) over the rows (models) that both have; NaN is missing."""
    if len(values) <= _MANY:
        return tau_b(orders(values))
    from scipy.stats import kendalltau  # slow to import, and needed here alone

    tasks, known = values.shape[1], ~np.isnan(values)
    tau = np.full((tasks, tasks), np.nan)
    for one, other in zip(*np.triu_indices(tasks), strict=True):
        both = known[:, one] & known[:, other]
        pair = values[np.ix_(both, [one, other])]
        # Of two models scipy divides by their number less two.
        of_both = (
            kendalltau(*pair.T, method="asymptotic").statistic
            if len(pair) > 2
            else tau_b(orders(pair))[0, 1]
        )
        tau[one, other] = tau[other, one] = of_both
    return tau


def orders(values: np.ndarray) -> Orders:
    """How each column of `values` orders its rows, the models; NaN is a missing score."""
    models, tasks = values.shape
    order = np.argsort(values, axis=0, kind="stable").T  # missing scores come last
    rising = np.take_along_axis(values.T, order, axis=1)
    alone = np.zeros((models, -(-models // _WORD)), np.uint64)
    at = np.arange(models, dtype=np.uint64)
    alone[np.arange(models), at // _WORD] = np.uint64(1) << at % _WORD
    # The models up to each place, the first place before all: each set has one model more.
    upto = np.zeros((tasks, models + 1, alone.shape[1]), np.uint64)
    np.bitwise_or.accumulate(alone[order], axis=1, out=upto[:, 1:])
    count = (~np.isnan(values)).sum(axis=0)
    below, apart = np.zeros((2, tasks, *alone.shape), np.uint64)
    known = upto[np.arange(tasks), count]
    tied = (rising[:, 1:] == rising[:, :-1]).any(axis=1)
    for task in range(tasks):
        n, places = count[task], order[task, : count[task]]
        scores, sets = rising[task, :n], upto[task]
        if not tied[task]:
            below[task, places] = sets[:n]
            apart[task, places] = known[task] & ~alone[places]
        else:
            lower, upper = (np.searchsorted(scores, scores, side) for side in ("left", "right"))
            below[task, places] = sets[lower]
            apart[task, places] = sets[lower] | known[task] & ~sets[upper]
    return Orders(below, apart, known, ~np.isnan(values.T), tied)


def tau_b(one: Orders) -> np.ndarray:
    """Kendall's tau-b between any two tasks, over the models that both have."""
    tasks = len(one.tied)
    models = one.has_score.astype(float)
    both = (models @ models.T).astype(np.int64)
    both *= both - 1
    shared, ordered = both.copy(), both.copy()  # where no models are tied, all pairs are ordered
    unlike, above = np.zeros((tasks, tasks), np.int64), one.above
    for task in range(tasks):
        # Who is below here and above there is above here and below there, seen from the other model.
        opposed = 2 * _count(one.below[task] & above[task:])
        unlike[task, task:] = unlike[task:, task] = opposed
    for some in np.flatnonzero(one.tied):
        shared[some] = shared[:, some] = _count(one.apart & one.apart[some])
        ordered[some] = _count(_among(one.apart[some], one))
    return _tau(shared, unlike, ordered, ordered.T)


def among(one: Orders, models: np.ndarray) -> Orders:
    """The same orders of these models alone."""
    bits = np.zeros(one.known.shape[1] * _WORD, bool)
    bits[: len(models)] = models
    word = np.packbits(bits, bitorder="little").view(np.uint64)
    return one._replace(
        below=one.below.compress(models, axis=1),
        apart=one.apart.compress(models, axis=1) & word,
        known=one.known & word,
        has_score=one.has_score.compress(models, axis=1),
    )


def tau_b_by_task(one: Orders, other: Orders) -> np.ndarray:
    """Kendall's tau-b of each task between two sets of scores of the same models."""
    unlike = 2 * _count(one.below & other.above)
    shared = _count(one.apart & other.apart)
    if np.array_equal(one.has_score, other.has_score):  # of one model they order the same others
        return _tau(shared, unlike, _count(one.apart), _count(other.apart))
    return _tau(shared, unlike, _count(_among(one.apart, other)), _count(_among(other.apart, one)))


def _among(pairs: np.ndarray, of: Orders) -> np.ndarray:
    """Those pairs of which both models have a score, by task."""
    return np.where(of.has_score[:, :, None], pairs & of.known[:, None], np.uint64(0))


def _count(pairs: np.ndarray) -> np.ndarray:
    return np.bitwise_count(pairs).sum(axis=(-2, -1), dtype=np.int64)


def _tau(
    shared: np.ndarray, unlike: np.ndarray, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """From the pairs that both order, those ordered in opposite ways, and those that either orders."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return (shared - 2 * unlike) / np.sqrt(first * second)
