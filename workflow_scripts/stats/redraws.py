"""How far the agreement of tasks changes with other items and trainings: its intervals and ceilings."""

from itertools import islice, pairwise

import numpy as np
import pandas as pd

from workflow_scripts.stats.agreement import compare_pairs, mean_agreement, pair_all
from workflow_scripts.stats.score_errors import ScoreErrors
from workflow_scripts.stats.significance import TAILS

Interval = tuple[float, float]  # both ends; NaN where it cannot be computed


def bootstrap_agreement(errors: ScoreErrors, draws: int, seed: int = 0) -> Interval:
    """Compute the interval of the mean agreement, had each task other items and each model another training.

    A sample is noisier than what it is drawn from, and agrees less; so the spread of the samples is taken,
    and set around the measured value m: [m + q_low - mean, m + q_high - mean], within -1 and 1.
    Of many models a sample is redrawn. NaN where any score lacks its error.
    """
    low, high = _center(mean_agreement(errors.scores), _redraw_means(errors, draws, seed))
    return max(low, -1.0), min(high, 1.0)


def bootstrap_agreement_rise(
    first: ScoreErrors, second: ScoreErrors, draws: int, seed: int = 0
) -> Interval:
    """Compute the interval of the second's mean agreement minus the first's, for these very models.

    Both are redrawn at once: the same items under both protocols, and trainings of their own.
    """
    differences = _redraw_means(second, draws, seed) - _redraw_means(first, draws, seed)
    return _center(mean_agreement(second.scores) - mean_agreement(first.scores), differences)


def _redraw_means(errors: ScoreErrors, draws: int, seed: int) -> np.ndarray:
    if not errors.are_known:
        return np.full(draws, np.nan)
    samples = errors.sampled().drawn(draws, seed)
    return np.array([mean_agreement(pd.DataFrame(sample)) for sample in samples])


def _center(value: float, samples: np.ndarray) -> Interval:
    """Set the spread of the samples around the measured value, which is within it in any case."""
    if np.isnan(samples).mean() > 0.5 or np.isnan(value):
        return float("nan"), float("nan")
    low, high = np.nanquantile(samples, TAILS) - np.nanmean(samples)
    return float(value + min(low, 0.0)), float(value + max(high, 0.0))


def compute_self_agreement(errors: ScoreErrors, draws: int, seed: int = 0) -> pd.Series:
    """Compute each task's mean tau-b with its own scores redrawn around the measured ones.

    Cells without an error are left out; NaN where fewer than two models are left. Of many models a sample is redrawn.
    """
    errors = errors.sampled()
    pairs, total = pair_all(len(errors.scores)), 0.0
    measured = compare_pairs(errors.scores.where(errors.stderrs.notna()).to_numpy(float), pairs)
    # Without the first: these are the samples that ceilings are made of.
    for sample in islice(errors.drawn(draws + 1, seed), 1, None):
        redrawn = compare_pairs(sample, pairs)
        ordered = np.abs(measured).sum(axis=0) * np.abs(redrawn).sum(axis=0)
        with np.errstate(invalid="ignore"):
            total += (measured * redrawn).sum(axis=0) / np.sqrt(ordered)
    return pd.Series(total / draws, errors.scores.columns)


def compute_agreement_ceiling(errors: ScoreErrors, draws: int, seed: int = 0) -> pd.DataFrame:
    """Compute how far two tasks could agree at most if they differed in nothing but items and trainings: sqrt(r_a r_b).

    r is the agreement tau_b(x', x'') of two redraws of each task, its reliability, over the models that both tasks
    have. As a correlation of two noisy measures of one thing is the root of the product of their
    reliabilities, so is tau nearly; a task agrees better with one that is measured well than with its
    own like. The redraws start from scores that hold such errors already, so that the ceiling is
    generous for small tasks, never too low. Of many models a sample is redrawn, a fifth as often.
    """
    sample = errors.sampled()
    draws = draws if sample is errors else max(draws // 5, 1)
    measured = sample.scores.notna().to_numpy(dtype=bool)
    pairs = first, second = pair_all(len(measured))
    both = (measured[first] & measured[second]).astype(float)
    total = np.zeros((both.shape[1], both.shape[1]))
    orders = (compare_pairs(values, pairs) for values in sample.drawn(draws + 1, seed))
    for order, redrawn in pairwise(orders):
        # [a, b]: of task a, over the models that b has too.
        ordered = (np.abs(order).T @ both) * (np.abs(redrawn).T @ both)
        with np.errstate(invalid="ignore"):
            total += (order * redrawn).T @ both / np.sqrt(ordered)
    reliability = (total / draws).clip(min=0)
    tasks = sample.scores.columns
    return pd.DataFrame(np.sqrt(reliability * reliability.T), tasks, tasks)
