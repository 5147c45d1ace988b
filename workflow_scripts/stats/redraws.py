"""What drawing items and trainings again does to the agreement of tasks: its intervals and ceilings."""

from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.agreement import (
    compare_pairs,
    kendall_matrix,
    mean_agreement,
    mean_of_pairs,
    pair_all,
)
from workflow_scripts.stats.checks import TAILS, checked_draws
from workflow_scripts.stats.score_errors import ScoreErrors


class Interval(NamedTuple):
    """Both ends; NaN where the interval cannot be computed."""

    low: float
    high: float


def interval_drawn(errors: ScoreErrors, draws: int, seed: int = 0) -> Interval:
    """Compute the interval of the mean agreement, had each task other items and each model another training.

    A draw is noisier than what it is drawn from, and agrees less; so the spread of the draws is taken,
    and set around the measured value m: [m + q_low - mean, m + q_high - mean], within -1 and 1.
    Of many models a sample is drawn again. Unknown where any score lacks its error.
    """
    value = mean_agreement(errors.scores)
    low, high = _set_around(value, _draw_means(errors, draws, seed))
    return Interval(max(low, -1.0), min(high, 1.0))


def difference_drawn(
    first: ScoreErrors, second: ScoreErrors, draws: int, seed: int = 0
) -> Interval:
    """Compute the interval of the second's mean agreement minus the first's, for these very models.

    Both are drawn at once: the same items under both protocols, and trainings of their own.
    """
    moved = _draw_means(second, draws, seed) - _draw_means(first, draws, seed)
    return _set_around(mean_agreement(second.scores) - mean_agreement(first.scores), moved)


def _draw_means(errors: ScoreErrors, draws: int, seed: int) -> np.ndarray:
    if not errors.are_known:
        return np.full(draws, np.nan)
    drawn = errors.sampled().drawn(draws, seed)
    return np.array([mean_of_pairs(kendall_matrix(pd.DataFrame(one)).to_numpy()) for one in drawn])


def _set_around(value: float, drawn: np.ndarray) -> Interval:
    """Set the spread of what was drawn around what was measured, which is within it in any case."""
    known = drawn[~np.isnan(drawn)]
    if known.size * 2 < drawn.size or np.isnan(value):
        return Interval(float("nan"), float("nan"))
    low, high = np.quantile(known, TAILS) - known.mean()
    return Interval(float(value + min(low, 0.0)), float(value + max(high, 0.0)))


def agree_with_redraw(errors: ScoreErrors, draws: int, seed: int = 0) -> pd.Series:
    """Compute each task's mean tau-b with its own scores drawn again around the measured ones.

    Cells without an error are left out; NaN where fewer than two models are left. Of many models a sample is drawn.
    """
    errors = errors.sampled()
    pairs = pair_all(len(errors.scores))
    measured = compare_pairs(
        errors.scores.where(errors.stderrs.notna()).to_numpy(dtype=float), pairs
    )
    total = np.zeros(errors.scores.shape[1])
    # The first draw is left out, so that these are the draws that ceilings are made of.
    for drawn in islice(errors.drawn(checked_draws(draws) + 1, seed), 1, None):
        again = compare_pairs(drawn, pairs)
        ordered = np.abs(measured).sum(axis=0) * np.abs(again).sum(axis=0)
        with np.errstate(invalid="ignore"):
            total += (measured * again).sum(axis=0) / np.sqrt(ordered)
    return pd.Series(total / draws, errors.scores.columns)


def ceiling_of_pairs(errors: ScoreErrors, draws: int, seed: int = 0) -> pd.DataFrame:
    """Compute what two tasks could agree at most if they differed in nothing but items and trainings: sqrt(r_a r_b).

    r is the agreement tau_b(x', x'') of two redraws of each task, its reliability, over the models that both tasks
    have. As a correlation of two noisy measures of one thing is the root of the product of their
    reliabilities, so is tau nearly; a task agrees better with one that is measured well than with its
    own like. The redraws start from scores that hold such errors already, so that the ceiling is
    generous for small tasks, never too low. Of many models a sample is drawn, a fifth as often: what is
    unsure is then which models it has.
    """
    every, errors = errors, errors.sampled()
    draws = draws if errors is every else max(draws // 5, 1)
    scores = errors.scores
    first, second = pair_all(len(scores))
    known = scores.notna().to_numpy(dtype=bool)
    both = (known[first] & known[second]).astype(float)
    redrawn = np.zeros((scores.shape[1], scores.shape[1]))
    drawn = errors.drawn(checked_draws(draws) + 1, seed)
    for one, other in pairwise(compare_pairs(values, (first, second)) for values in drawn):
        # [a, b]: of task a, over the models that b has too.
        ordered = (np.abs(one).T @ both) * (np.abs(other).T @ both)
        with np.errstate(invalid="ignore"):
            redrawn += (one * other).T @ both / np.sqrt(ordered)
    reliability = (redrawn / draws).clip(min=0)
    return pd.DataFrame(np.sqrt(reliability * reliability.T), scores.columns, scores.columns)
