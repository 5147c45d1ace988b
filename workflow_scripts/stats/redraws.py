"""Compute intervals and ceilings of the agreement of tasks by resampling items and training runs."""

from itertools import pairwise

import numpy as np
import pandas as pd

from workflow_scripts.stats.agreement import compare_models, compute_mean_agreement, sum_pairs
from workflow_scripts.stats.score_errors import ScoreErrors
from workflow_scripts.stats.significance import TAILS

Interval = tuple[float, float]  # both ends; NaN if it cannot be computed


def bootstrap_agreement(errors: ScoreErrors, draws: int, seed: int) -> Interval:
    """Compute the bootstrap interval of the mean agreement over items and training runs.

    Resampled scores have additional noise and so agree less. Therefore the deviations of the samples from their
    mean are set around the measured value m: [m + q_low - mean, m + q_high - mean], clipped to -1 and 1.
    With many models a random subset is resampled. NaN if any score lacks an error.
    """
    samples = _redraw_means(errors, draws, seed)
    low, high = _center_interval(compute_mean_agreement(errors.scores), samples)
    return max(low, -1.0), min(high, 1.0)


def bootstrap_agreement_rise(
    first: ScoreErrors, second: ScoreErrors, draws: int, seed: int
) -> Interval:
    """Compute the interval of the second's mean agreement minus the first's, for these models.

    Both are resampled together, with the same items and independent training runs.
    """
    differences = _redraw_means(second, draws, seed) - _redraw_means(first, draws, seed)
    rise = compute_mean_agreement(second.scores) - compute_mean_agreement(first.scores)
    return _center_interval(rise, differences)


def _redraw_means(errors: ScoreErrors, draws: int, seed: int) -> np.ndarray:
    """Compute the mean agreement in each sample of the scores."""
    if not errors.are_known:
        return np.full(draws, np.nan)
    samples = errors.subsample().draw_scores(draws, seed)
    return np.array([compute_mean_agreement(pd.DataFrame(sample)) for sample in samples])


def _center_interval(value: float, samples: np.ndarray) -> Interval:
    """Set the 95% range of the samples around the measured value, which it always contains."""
    low, high = np.quantile(samples, TAILS) - samples.mean()
    return float(value + min(low, 0.0)), float(value + max(high, 0.0))


def compute_agreement_ceiling(errors: ScoreErrors, draws: int, seed: int) -> pd.DataFrame:
    """Compute the agreement of two tasks if they differed only by items and training runs: sqrt(r_a r_b).

    The reliability r of a task is the agreement tau_b(x', x'') of two resamples of it, over the models that both
    tasks have. The correlation of two noisy measures of one quantity is the geometric mean of their reliabilities,
    and this holds approximately for tau; so a noisy task agrees better with a precise task than with one as noisy.
    The resamples start from measured scores, which already have such errors, so the ceiling of small tasks is too
    high, never too low. With many models a random subset is resampled, a fifth as often.
    """
    subset = errors.subsample()
    if subset is not errors:
        draws = max(draws // 5, 1)
    measured = subset.scores.notna().to_numpy()
    tasks = subset.scores.columns
    pairs = pairwise(map(compare_models, subset.draw_scores(draws + 1, seed)))
    taus = [_compute_retest_tau(first, second, measured) for first, second in pairs]
    reliability = np.clip(sum(taus) / draws, 0, None)
    return pd.DataFrame(np.sqrt(reliability * reliability.T), tasks, tasks)


def _compute_retest_tau(first: np.ndarray, second: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """Compute tau-b [a, b] of task a between two samples, over the pairs of models that column b has."""
    untied = sum_pairs(np.abs(first), measured) * sum_pairs(np.abs(second), measured)
    with np.errstate(invalid="ignore"):
        return sum_pairs(first * second, measured) / np.sqrt(untied)
