"""Intervals of mean agreement: over families of models, over items and trainings, and of differences."""

from typing import NamedTuple

import numpy as np

from workflow_scripts.stats.agreement import mean_agreement, mean_of_pairs
from workflow_scripts.stats.checks import TAILS
from workflow_scripts.stats.orders import kendall
from workflow_scripts.stats.score_errors import ScoreErrors


class Interval(NamedTuple):
    """Both ends; NaN where the interval cannot be computed."""

    low: float
    high: float


UNKNOWN = Interval(float("nan"), float("nan"))


def interval_drawn(errors: ScoreErrors, draws: int, seed: int = 0) -> Interval:
    """Interval of the mean agreement, had each task other items and each model another training.

    A draw is noisier than what it is drawn from, and agrees less; so the spread of the draws is taken,
    and set around the measured value m: [m + q_low - mean, m + q_high - mean], within -1 and 1.
    Of many models a sample is drawn again. Unknown where any score lacks its error.
    """
    value = mean_agreement(errors.scores)
    low, high = _around(value, _drawn_means(errors, draws, seed))
    return Interval(max(low, -1.0), min(high, 1.0))


def difference_drawn(
    first: ScoreErrors, second: ScoreErrors, draws: int, seed: int = 0
) -> Interval:
    """Interval of the second's mean agreement minus the first's, for these very models.

    Both are drawn at once: the same items under both protocols, and trainings of their own.
    """
    moved = _drawn_means(second, draws, seed) - _drawn_means(first, draws, seed)
    value = mean_agreement(second.scores) - mean_agreement(first.scores)
    return _around(value, moved)


def _drawn_means(errors: ScoreErrors, draws: int, seed: int) -> np.ndarray:
    if not errors.are_known:
        return np.full(draws, np.nan)
    drawn = errors.sampled().drawn(draws, seed)
    return np.array([mean_of_pairs(kendall(values)) for values in drawn])


def _around(value: float, drawn: np.ndarray) -> Interval:
    """The spread of what was drawn, set around what was measured; it holds that in any case."""
    known = drawn[~np.isnan(drawn)]
    if known.size * 2 < drawn.size or np.isnan(value):
        return UNKNOWN
    low, high = np.quantile(known, TAILS) - known.mean()
    return Interval(float(value + min(low, 0.0)), float(value + max(high, 0.0)))
