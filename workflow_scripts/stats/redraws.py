"""What drawing items and trainings again does to the agreement of tasks: its intervals and ceilings."""

from itertools import islice, pairwise

import numpy as np
import pandas as pd

from workflow_scripts.stats.agreement import (
    compare_pairs,
    mean_agreement,
    pair_all,
)
from workflow_scripts.stats.checks import TAILS
from workflow_scripts.stats.score_errors import ScoreErrors

Interval = tuple[float, float]  # both ends; NaN where it cannot be computed


def interval_drawn(errors: ScoreErrors, draws: int, seed: int = 0) -> Interval:
    """Compute the interval of the mean agreement, had each task other items and each model another training.

    A draw is noisier than what it is drawn from, and agrees less; so the spread of the draws is taken,
    and set around the measured value m: [m + q_low - mean, m + q_high - mean], within -1 and 1.
    Of many models a sample is drawn again. Unknown where any score lacks its error.
    """
    low, high = _set_around(mean_agreement(errors.scores), _draw_means(errors, draws, seed))
    return max(low, -1.0), min(high, 1.0)


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
    return np.array([mean_agreement(pd.DataFrame(scores)) for scores in drawn])


def _set_around(value: float, drawn: np.ndarray) -> Interval:
    """Set the spread of what was drawn around what was measured, which is within it in any case."""
    if np.isnan(drawn).mean() > 0.5 or np.isnan(value):
        return float("nan"), float("nan")
    low, high = np.nanquantile(drawn, TAILS) - np.nanmean(drawn)
    return float(value + min(low, 0.0)), float(value + max(high, 0.0))


def agree_with_redraw(errors: ScoreErrors, draws: int, seed: int = 0) -> pd.Series:
    """Compute each task's mean tau-b with its own scores drawn again around the measured ones.

    Cells without an error are left out; NaN where fewer than two models are left. Of many models a sample is drawn.
    """
    errors = errors.sampled()
    pairs, total = pair_all(len(errors.scores)), 0.0
    known = errors.scores.where(errors.stderrs.notna())
    measured = compare_pairs(known.to_numpy(dtype=float), pairs)
    # The first draw is left out, so that these are the draws that ceilings are made of.
    for drawn in islice(errors.drawn(draws + 1, seed), 1, None):
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
    sample = errors.sampled()
    draws = draws if sample is errors else max(draws // 5, 1)
    scores = sample.scores
    first, second = pair_all(len(scores))
    measured = scores.notna().to_numpy(dtype=bool)
    both = (measured[first] & measured[second]).astype(float)
    redrawn = np.zeros((scores.shape[1], scores.shape[1]))
    drawn = sample.drawn(draws + 1, seed)
    for one, other in pairwise(compare_pairs(values, (first, second)) for values in drawn):
        # [a, b]: of task a, over the models that b has too.
        ordered = (np.abs(one).T @ both) * (np.abs(other).T @ both)
        with np.errstate(invalid="ignore"):
            redrawn += (one * other).T @ both / np.sqrt(ordered)
    reliability = (redrawn / draws).clip(min=0)
    return pd.DataFrame(np.sqrt(reliability * reliability.T), scores.columns, scores.columns)
