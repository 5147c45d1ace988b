"""Errors of fractions where the plain formula fails: where no item or every item is right, and at a baseline."""

from typing import Any

import numpy as np

from workflow_scripts.stats.partial_order import SIGNIFICANT


def standard_error(value: Any, n: Any, lowest: Any = 0.0) -> np.ndarray:
    """Compute the standard error of a score on `n` items, from the score alone.

    For a share p of right answers, lowest 0: sqrt(p (1 - p) / n). For a coefficient r on [-1, 1] such
    as Matthews', lowest -1: sqrt((1 - r^2) / n), which is exact where both classes are equally
    frequent, since r = 2p - 1 there, and near it elsewhere. In one formula, with highest value 1:
    sqrt((1 - v) (v - lowest) / n).
    """
    value, n, lowest = _to_floats(value, n, lowest)
    return np.sqrt((1 - value) * (value - lowest) / n)


def wilson(value: Any, n: Any, lowest: Any = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Compute Wilson's 95% interval of a share p of n items: both ends, never below 0, above 1 or of no width.

    It holds each q that p lies no more than z = 1.96 of q's own standard errors from,
    |p - q| <= z sqrt(q (1 - q) / n). Of a coefficient on [-1, 1], lowest -1, it is that of (r + 1) / 2.
    """
    value, n, lowest = _to_floats(value, n, lowest)
    share, weight = (value - lowest) / (1 - lowest), SIGNIFICANT**2 / n
    center = (share + weight / 2) / (1 + weight)
    half_width = np.sqrt(weight * share * (1 - share) + weight**2 / 4) / (1 + weight)
    low, high = (lowest + (1 - lowest) * (center + side * half_width) for side in (-1, 1))
    return np.minimum(low, value), np.maximum(high, value)  # rounding may leave an end out


def compute_share_stderr(value: Any, n: Any, lowest: Any = 0.0) -> np.ndarray:
    """Compute the plain standard error, and where that is 0 half the width of Wilson's interval over z."""
    plain = standard_error(value, n, lowest)
    low, high = wilson(value, n, lowest)
    return np.where(plain > 0, plain, (high - low) / (2 * SIGNIFICANT))


def compute_score_interval(
    value: Any, error: Any, n: Any, lowest: Any = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the 95% interval of a score: Wilson's where n and the range are known, else z errors each way."""
    value, error, n, lowest = _to_floats(value, error, n, lowest)
    is_fraction = (n >= 1) & (value >= lowest) & (value <= 1)
    low, high = wilson(value, n, lowest)
    reach = SIGNIFICANT * error
    return np.where(is_fraction, low, value - reach), np.where(is_fraction, high, value + reach)


def compute_baseline_z(
    value: Any, error: Any, baseline: Any, n: Any, lowest: Any = 0.0
) -> np.ndarray:
    """Compute how many standard errors a score lies above its baseline f: those of a model that is at the baseline.

    That is sqrt((1 - f) (f - lowest) / n), with f at least one item from either end, and larger by as
    much as the score's own error is larger than its plain one, as where parts of a task weigh more than
    others. Where n or the metric's range is unknown it is the score's own error; NaN without any.
    """
    value, error, baseline, n, lowest = _to_floats(value, error, baseline, n, lowest)
    with np.errstate(divide="ignore", invalid="ignore"):
        step = (1 - lowest) / n
        at_baseline = standard_error(np.clip(baseline, lowest + step, 1 - step), n, lowest)
        plain, own = standard_error(value, n, lowest), np.where(error > 0, error, np.nan)
        wider = np.fmax(np.where(plain > 0, own / plain, 1.0), 1.0)
        is_fraction = ~np.isnan(n) & (value >= lowest) & (value <= 1)
        null = np.where(is_fraction, at_baseline * wider, own)
        return np.where(null > 0, (value - baseline) / null, np.nan)


def compute_mcc_step(value: float, positive: int, negative: int) -> float:
    """Compute how far Matthews' coefficient may move when one answer changes, for any answers with this value.

    With a negative and b positive items called negative, of N and P, it is (a P - b N) / sqrt(m (n - m) P N),
    m = a + b, and 0 of a model that always gives the same answer. There one answer moves it furthest. Of all
    (a, b) within 1 / n of the value the largest step to a neighbour is taken.
    """
    right, wrong = np.arange(negative + 1.0)[:, None], np.arange(positive + 1.0)
    called = right + wrong
    spread = called * (positive + negative - called) * positive * negative
    table = (right * positive - wrong * negative) / np.sqrt(np.where(spread > 0, spread, np.inf))
    near = np.abs(table - value) <= 1 / (positive + negative)
    steps = []
    for axis in (0, 1):
        before = np.delete(near, -1, axis) | np.delete(near, 0, axis)
        steps.append(np.abs(np.diff(table, axis=axis))[before].max(initial=0.0))
    return float(max(steps))


def _to_floats(*numbers: Any) -> list[np.ndarray]:
    """Convert to arrays of floats, with NaN for missing values."""
    return [np.asarray(number, float) for number in numbers]
