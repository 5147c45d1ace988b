"""Compute intervals and ceilings of the agreement of tasks by resampling items and training runs."""

from itertools import islice, pairwise

import numpy as np
import pandas as pd

from workflow_scripts.stats.agreement import compare_pairs, mean_agreement, pair_all
from workflow_scripts.stats.score_errors import ScoreErrors
from workflow_scripts.stats.significance import TAILS

Interval = tuple[float, float]  # both ends; NaN if it cannot be computed


def bootstrap_agreement(errors: ScoreErrors, draws: int, seed: int = 0) -> Interval:
    """Compute the bootstrap interval of the mean agreement over items and training runs.

    Resampled scores have additional noise and so agree less. Therefore the deviations of the samples from their
    mean are set around the measured value m: [m + q_low - mean, m + q_high - mean], clipped to -1 and 1.
    With many models a random subset is resampled. NaN if any score lacks an error.
    """
    low, high = _center(mean_agreement(errors.scores), _redraw_means(errors, draws, seed))
    return max(low, -1.0), min(high, 1.0)


def bootstrap_agreement_rise(
    first: ScoreErrors, second: ScoreErrors, draws: int, seed: int = 0
) -> Interval:
    """Compute the interval of the second's mean agreement minus the first's, for these models.

    Both are resampled together, with the same items and independent training runs.
    """
    differences = _redraw_means(second, draws, seed) - _redraw_means(first, draws, seed)
    return _center(mean_agreement(second.scores) - mean_agreement(first.scores), differences)


def _redraw_means(errors: ScoreErrors, draws: int, seed: int) -> np.ndarray:
    if not errors.are_known:
        return np.full(draws, np.nan)
    samples = errors.sampled().drawn(draws, seed)
    return np.array([mean_agreement(pd.DataFrame(sample)) for sample in samples])


def _center(value: float, samples: np.ndarray) -> Interval:
    """Set the 95% range of the samples around the measured value, which it always contains."""
    if np.isnan(samples).mean() > 0.5 or np.isnan(value):
        return float("nan"), float("nan")
    low, high = np.nanquantile(samples, TAILS) - np.nanmean(samples)
    return float(value + min(low, 0.0)), float(value + max(high, 0.0))


def compute_self_agreement(errors: ScoreErrors, draws: int, seed: int = 0) -> pd.Series:
    """Compute each task's mean tau-b between its measured and its resampled scores.

    Cells without an error are left out; NaN if fewer than two models remain. With many models a random subset is used.
    """
    errors = errors.sampled()
    pairs, total = pair_all(len(errors.scores)), 0.0
    measured = compare_pairs(errors.scores.where(errors.stderrs.notna()).to_numpy(float), pairs)
    # Skip the first sample, so that these are the later sample of each pair in compute_agreement_ceiling.
    for sample in islice(errors.drawn(draws + 1, seed), 1, None):
        redrawn = compare_pairs(sample, pairs)
        ordered = np.abs(measured).sum(axis=0) * np.abs(redrawn).sum(axis=0)
        with np.errstate(invalid="ignore"):
            total += (measured * redrawn).sum(axis=0) / np.sqrt(ordered)
    return pd.Series(total / draws, errors.scores.columns)


def compute_agreement_ceiling(errors: ScoreErrors, draws: int, seed: int = 0) -> pd.DataFrame:
    """Compute the agreement of two tasks if they differed only by items and training runs: sqrt(r_a r_b).

    The reliability r of a task is the agreement tau_b(x', x'') of two resamples of it, over the models that both
    tasks have. The correlation of two noisy measures of one quantity is the geometric mean of their reliabilities,
    and this holds approximately for tau; so a noisy task agrees better with a precise task than with one as noisy.
    The resamples start from measured scores, which already have such errors, so the ceiling is
    generous for small tasks, never too low. With many models a random subset is resampled, a fifth as often.
    """
    sample = errors.sampled()
    draws = draws if sample is errors else max(draws // 5, 1)
    measured = sample.scores.notna().to_numpy(dtype=bool)
    pairs = first, second = pair_all(len(measured))
    both = (measured[first] & measured[second]).astype(float)
    total = np.zeros((both.shape[1], both.shape[1]))
    orders = (compare_pairs(values, pairs) for values in sample.drawn(draws + 1, seed))
    for order, redrawn in pairwise(orders):
        # [a, b]: pairs of models untied on task a and measured on both tasks.
        ordered = (np.abs(order).T @ both) * (np.abs(redrawn).T @ both)
        with np.errstate(invalid="ignore"):
            total += (order * redrawn).T @ both / np.sqrt(ordered)
    reliability = (total / draws).clip(min=0)
    tasks = sample.scores.columns
    return pd.DataFrame(np.sqrt(reliability * reliability.T), tasks, tasks)
