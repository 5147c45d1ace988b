"""Tests of differences at the 5% level, their confidence intervals, and detectable differences."""

import math
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

CONFIDENCE = 0.95  # confidence level of every reported interval
TAILS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
NORMAL_HALF_WIDTH = NormalDist().inv_cdf(TAILS[1])  # of a 95% interval, in standard deviations
POWER = 0.8


def estimate_difference(difference: float, stderr: float, df: float = math.inf) -> dict[str, float]:
    """Estimate a difference, first minus second, with Student's t (normal with infinite degrees of freedom).

    The result has `difference`, `stderr`, the ends `low` and `high` of the 95% interval, and `detectable`, the smallest
    difference that a test at 5% detects with 80% power. The last three are NaN if the error is unknown.
    """
    half_width = detectable = math.nan
    if math.isfinite(stderr) and df >= 1:
        from scipy.stats import t  # slow to import, used only here

        half_width = float(t.ppf(TAILS[1], df)) * stderr
        detectable = compute_detectable_z(df) * stderr
    return {
        "difference": difference,
        "stderr": stderr,
        "low": difference - half_width,
        "high": difference + half_width,
        "detectable": detectable,
    }


@cache
def compute_detectable_z(df: float) -> float:
    """Compute the difference, in standard errors, that is detected with 80% power.

    It is the noncentrality at which Student's t exceeds its 97.5% quantile with probability 80%; 2.80 if normal.
    """
    from scipy.optimize import brentq
    from scipy.stats import nct, norm, t

    if math.isinf(df):
        return float(norm.ppf(TAILS[1]) + norm.ppf(POWER))
    quantile = float(t.ppf(TAILS[1], df))
    return brentq(
        lambda noncentrality: nct.sf(quantile, df, noncentrality) - POWER, 0, 2 * quantile + 3
    )


def run_z_test(difference: np.ndarray, stderr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute z = difference / stderr, and the two-sided p = 2 (1 - Phi(|z|)).

    `stderr` is the standard error of the difference. For a difference of 0, z is 0 even if `stderr` is 0; z and p are
    NaN if `stderr` is missing, or 0 for another difference.
    """
    from scipy.stats import norm  # slow to import, used only here

    difference = np.asarray(difference, float)
    stderr = np.asarray(stderr, float)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(difference == 0, 0.0 * stderr, difference / stderr)
    z = np.where(np.isinf(z), np.nan, z)
    return z, 2 * norm.sf(np.abs(z))


class McNemar(NamedTuple):
    """Result of McNemar's test."""

    b: int
    """Items that only the first model answered correctly."""
    c: int
    """Items that only the second model answered correctly."""
    p: float
    """Two-sided p-value."""


def run_mcnemar_test(first: Sequence[bool], second: Sequence[bool]) -> McNemar:
    """Compute McNemar's exact test of two models on the same items, in the same order.

    Only items on which the models differ count. Under the null hypothesis b is binomial with b + c trials of
    probability 1/2, and p = min(1, 2 P(X <= min(b, c))).
    """
    from scipy.stats import binomtest  # slow to import, used only here

    difference = np.subtract(first, second, dtype=int)
    b = int((difference > 0).sum())
    c = int((difference < 0).sum())
    return McNemar(b, c, float(binomtest(b, b + c).pvalue) if b + c else 1.0)


def correct_by_holm(p_values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Correct p-values by Holm's method, which controls the family-wise error rate.

    With p_(1) <= ... <= p_(m), the corrected p_(i) is max_{j <= i} min(1, (m - j + 1) p_(j)).
    NaN (no test) stays NaN and is not counted.
    """
    corrected = np.array(p_values, dtype=float)
    rising = np.argsort(corrected, kind="stable")[: np.count_nonzero(~np.isnan(corrected))]
    factors = np.arange(len(rising), 0, -1)
    corrected[rising] = np.maximum.accumulate(np.minimum(1.0, factors * corrected[rising]))
    return corrected
