"""Standard errors of fractions where the usual formula fails: with no or every item correct, and at a baseline."""

from typing import Any

import numpy as np

from workflow_scripts.stats.partial_order import SIGNIFICANT


def _compute_stderr(value: Any, n: Any, lowest: Any) -> np.ndarray:
    """Compute the standard error of a score on `n` items from its value.

    For an accuracy p (lowest 0) it is sqrt(p (1 - p) / n). For a coefficient r on [-1, 1] such
    as Matthews' (lowest -1) it is sqrt((1 - r^2) / n), which is exact if both classes are equally
    frequent, where r = 2p - 1, and approximate otherwise. Both are sqrt((1 - v) (v - lowest) / n) with
    highest value 1.
    """
    return np.sqrt((1 - value) * (value - lowest) / n)


def wilson(value: Any, n: Any, lowest: Any = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Compute the ends of Wilson's 95% interval of a fraction p of n items, within 0 and 1 and never empty.

    It contains each q with |p - q| <= z sqrt(q (1 - q) / n), z = 1.96. For a coefficient r on [-1, 1]
    (lowest -1) it is the interval of (r + 1) / 2, scaled back.
    """
    share, weight = (value - lowest) / (1 - lowest), SIGNIFICANT**2 / n
    center = (share + weight / 2) / (1 + weight)
    half_width = np.sqrt(weight * share * (1 - share) + weight**2 / 4) / (1 + weight)
    low, high = (lowest + (1 - lowest) * (center + side * half_width) for side in (-1, 1))
    return np.minimum(low, value), np.maximum(high, value)  # rounding may exclude an end


def compute_share_stderr(value: Any, n: Any, lowest: Any = 0.0) -> np.ndarray:
    """Compute the usual standard error, or if that is 0, half the width of Wilson's interval over z."""
    plain = _compute_stderr(value, n, lowest)
    low, high = wilson(value, n, lowest)
    return np.where(plain > 0, plain, (high - low) / (2 * SIGNIFICANT))


def compute_score_interval(
    value: Any, error: Any, n: Any, lowest: Any = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the 95% interval of a score: Wilson's if n and the range are known, else ± z standard errors."""
    value, error, n, lowest = _to_floats(value, error, n, lowest)
    is_fraction = (n >= 1) & (value >= lowest) & (value <= 1)
    low, high = wilson(value, n, lowest)
    reach = SIGNIFICANT * error
    return np.where(is_fraction, low, value - reach), np.where(is_fraction, high, value + reach)


def compute_baseline_z(
    value: Any, error: Any, baseline: Any, n: Any, lowest: Any = 0.0
) -> np.ndarray:
    """Compute z of a score against its baseline f, with the standard error of a model at the baseline.

    This error is sqrt((1 - f) (f - lowest) / n), with f at least one item from either end. It is scaled up by
    the ratio of the score's own to its usual error if that is above 1, for example because of unequal weights
    of a task's parts. If n or the metric's range is unknown, the score's own error is used; NaN without it.
    """
    value, error, baseline, n, lowest = _to_floats(value, error, baseline, n, lowest)
    with np.errstate(divide="ignore", invalid="ignore"):
        step = (1 - lowest) / n
        at_baseline = _compute_stderr(np.clip(baseline, lowest + step, 1 - step), n, lowest)
        plain, own = _compute_stderr(value, n, lowest), np.where(error > 0, error, np.nan)
        wider = np.fmax(np.where(plain > 0, own / plain, 1.0), 1.0)
        is_fraction = ~np.isnan(n) & (value >= lowest) & (value <= 1)
        null = np.where(is_fraction, at_baseline * wider, own)
        return np.where(null > 0, (value - baseline) / null, np.nan)


def compute_mcc_step(value: float, positive: int, negative: int) -> float:
    """Compute the largest change of Matthews' coefficient by one answer, over all answers with this value.

    If a of N negative and b of P positive items are predicted negative, the coefficient is
    (a P - b N) / sqrt(m (n - m) P N), m = a + b, and 0 for a model that always gives the same answer, where one
    answer changes it most. The result is the largest step to a neighbour over all (a, b) within 1 / n of the value.
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
