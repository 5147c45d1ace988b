"""Whether two models differ by more than chance, one question or many at once."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


def z_test(difference: np.ndarray, stderr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute z = difference / stderr, and the two-sided p = 2 (1 - Phi(|z|)).

    The error is that of the difference, of two models on the same items for instance. Of equal scores
    z is 0; without an error, or with one of 0, z and p are NaN.
    """
    difference, stderr = (np.asarray(x, dtype=float) for x in (difference, stderr))
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(difference == 0, 0.0 * (1 + stderr), difference / stderr)
    from scipy.stats import norm  # slow to import, and needed here alone

    z = np.where(np.isinf(z), np.nan, z)
    return z, 2 * norm.sf(np.abs(z))


class McNemar(NamedTuple):
    """Items that only the first got right, items that only the second did, two-sided p."""

    b: int
    c: int
    p: float


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> McNemar:
    """Compute McNemar's exact test of two models on the same items, in the same order.

    Only items on which the two differ count: b that only the first got right, c that only the second
    did. If neither is better, b is binomial with b + c trials of probability 1/2, and
    p = min(1, 2 P(X <= min(b, c))).
    """
    from scipy.stats import binomtest  # slow to import, and needed here alone

    apart = np.asarray(first, dtype=int) - np.asarray(second, dtype=int)
    b, c = int((apart > 0).sum()), int((apart < 0).sum())
    return McNemar(b, c, float(binomtest(b, b + c).pvalue) if b + c else 1.0)


def holm(p_values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Correct p-values by Holm's method, so that all may be held against one level.

    In rising order p_(1) <= ... <= p_(m), the corrected p_(i) is max_{j <= i} min(1, (m - j + 1) p_(j)).
    The chance of a single false alarm among all m is then at most the level. NaN stands for a test
    that was not made: it stays NaN and is not counted.
    """
    corrected = np.array(p_values, dtype=float)
    rising = np.argsort(corrected, kind="stable")[: int((~np.isnan(corrected)).sum())]
    factors = np.arange(len(rising), 0, -1)
    corrected[rising] = np.maximum.accumulate(np.minimum(1.0, factors * corrected[rising]))
    return corrected
