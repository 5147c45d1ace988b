"""Compute standard errors of fractions where the usual formula fails: with no or every item correct, and at a baseline.

Arguments are numbers or arrays. `lowest` is the minimum of the metric: 0 for a fraction, -1 for Matthews' coefficient.
"""

from typing import Any

import numpy as np

from workflow_scripts.stats.partial_order import CRITICAL_Z


def _compute_stderr(value: Any, n: Any, lowest: Any) -> np.ndarray:
    """Compute the standard error of a score on `n` items from its value.

    For an accuracy p (lowest 0) it is sqrt(p (1 - p) / n). For a coefficient r on [-1, 1] such
    as Matthews' (lowest -1) it is sqrt((1 - r^2) / n), which is exact if both classes are equally
    frequent, where r = 2p - 1, and approximate otherwise. Both are sqrt((1 - v) (v - lowest) / n) with
    highest value 1.
    """
    return np.sqrt((1 - value) * (value - lowest) / n)


def compute_wilson_interval(value: Any, n: Any, lowest: Any = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Compute the ends of Wilson's 95% interval of a fraction p of n items, within 0 and 1 and never empty.

    It contains each q with |p - q| <= z sqrt(q (1 - q) / n), z = 1.96. For a coefficient r on [-1, 1]
    (lowest -1) it is the interval of (r + 1) / 2, scaled back.
    """
    fraction = (value - lowest) / (1 - lowest)
    weight = CRITICAL_Z**2 / n
    center = (fraction + weight / 2) / (1 + weight)
    half_width = np.sqrt(weight * fraction * (1 - fraction) + weight**2 / 4) / (1 + weight)
    low, high = (lowest + (1 - lowest) * (center + side * half_width) for side in (-1, 1))
    return np.minimum(low, value), np.maximum(high, value)  # rounding may exclude an end


def compute_fraction_stderr(value: Any, n: Any, lowest: Any = 0.0) -> np.ndarray:
    """Compute the usual standard error, or if that is 0, half the width of Wilson's interval over z."""
    usual = _compute_stderr(value, n, lowest)
    low, high = compute_wilson_interval(value, n, lowest)
    return np.where(usual > 0, usual, (high - low) / (2 * CRITICAL_Z))


def compute_score_interval(
    value: Any, stderr: Any, n: Any, lowest: Any = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the 95% interval of a score: Wilson's if n and the range are known, else ± z standard errors."""
    value, stderr, n, lowest = _convert_to_floats(value, stderr, n, lowest)
    is_fraction = (n >= 1) & (value >= lowest) & (value <= 1)
    low, high = compute_wilson_interval(value, n, lowest)
    half_width = CRITICAL_Z * stderr
    return (
        np.where(is_fraction, low, value - half_width),
        np.where(is_fraction, high, value + half_width),
    )


def compute_baseline_z(
    value: Any, stderr: Any, baseline: Any, n: Any, lowest: Any = 0.0
) -> np.ndarray:
    """Compute z of a score against its baseline f, with the standard error of a model at the baseline.

    This error is sqrt((1 - f) (f - lowest) / n), with f at least one item from either end. It is multiplied by
    the ratio of `stderr`, the measured error of the score, to its usual error if that is above 1, for example because
    of unequal weights of a task's parts. If n or the metric's range is unknown, `stderr` is used; NaN without it.
    """
    value, stderr, baseline, n, lowest = _convert_to_floats(value, stderr, baseline, n, lowest)
    with np.errstate(divide="ignore", invalid="ignore"):
        item = (1 - lowest) / n
        at_baseline = _compute_stderr(np.clip(baseline, lowest + item, 1 - item), n, lowest)
        usual = _compute_stderr(value, n, lowest)
        measured = np.where(stderr > 0, stderr, np.nan)
        ratio = np.fmax(np.where(usual > 0, measured / usual, 1.0), 1.0)
        is_fraction = ~np.isnan(n) & (value >= lowest) & (value <= 1)
        null_stderr = np.where(is_fraction, at_baseline * ratio, measured)
        return np.where(null_stderr > 0, (value - baseline) / null_stderr, np.nan)


def compute_mcc_step(value: float, positive: int, negative: int) -> float:
    """Compute the largest change of Matthews' coefficient by one answer, over all answers with this value.

    If a of N negative and b of P positive items are predicted negative, the coefficient is
    (a P - b N) / sqrt(m (n - m) P N), m = a + b, and 0 for a model that always gives the same answer, where one
    answer changes it most. The result is the largest step to a neighbour over all (a, b) within 1 / n of the value.
    """
    a = np.arange(negative + 1.0)[:, None]
    b = np.arange(positive + 1.0)
    m = a + b
    product = m * (positive + negative - m) * positive * negative
    table = (a * positive - b * negative) / np.sqrt(np.where(product > 0, product, np.inf))
    near = np.abs(table - value) <= 1 / (positive + negative)
    steps = []
    for axis in (0, 1):
        before = np.delete(near, -1, axis) | np.delete(near, 0, axis)
        steps.append(np.abs(np.diff(table, axis=axis))[before].max(initial=0.0))
    return float(max(steps))


def _convert_to_floats(*numbers: Any) -> list[np.ndarray]:
    """Convert to arrays of floats, with NaN for missing values."""
    return [np.asarray(number, float) for number in numbers]
