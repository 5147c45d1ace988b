"""Whether two models differ by more than the pieces of the same texts that were drawn."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class PairedMeans(NamedTuple):
    """A difference of two means, second minus first, with its standard error and two-sided p."""

    difference: float
    stderr: float | None
    p: float | None


def paired_means(
    first: Sequence[float] | np.ndarray,
    second: Sequence[float] | np.ndarray,
    weights: Sequence[float] | np.ndarray,
) -> PairedMeans:
    """Of sums over pieces of unequal size, such as nats over windows of so many tokens.

    The difference is sum(second - first) / sum(weights), a ratio of two sums. Its error comes from the
    spread of the pieces around it (the delta method), and p from Student's t with one degree of freedom
    less than there are pieces. Pieces that both find hard add nothing to the error, as they would where
    two independent errors are added. One piece has no spread; of equal sums p is 1.
    """
    one, other, size = (np.asarray(values, dtype=float) for values in (first, second, weights))
    if not len(one) == len(other) == len(size) or not len(size):
        raise ValueError(
            f"first has {len(one)} pieces, second {len(other)} and weights {len(size)}; expected the"
            " same pieces in all, at least one."
        )
    if (size <= 0).any():
        raise ValueError(f"weights holds {size[size <= 0][0]:g}; expected numbers above 0.")
    apart, pieces = other - one, len(size)
    difference = float(apart.sum() / size.sum())
    if pieces == 1:
        return PairedMeans(difference, None, None)
    spread = ((apart - difference * size) ** 2).sum() / (pieces - 1)
    stderr = math.sqrt(spread * pieces) / float(size.sum())
    if stderr == 0:
        return PairedMeans(difference, 0.0, float(difference == 0))
    from scipy.stats import t  # of what is slow to import, where it is needed

    return PairedMeans(difference, stderr, float(2 * t.sf(abs(difference) / stderr, pieces - 1)))


def paired_ratio(first: np.ndarray, second: np.ndarray) -> tuple[float, float | None]:
    """sum(second) / sum(first) over the same pieces, and its standard error.

    The error is the delta method's: from the spread of second - ratio * first, so that what both find hard adds
    nothing to it. NaN where the first sum is 0, and no error of one piece.
    """
    one, other = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if len(one) != len(other) or not len(one):
        raise ValueError(
            f"first has {len(one)} pieces and second {len(other)}; expected the same, at least one."
        )
    if not (whole := float(one.sum())):
        return math.nan, None
    ratio, n = float(other.sum()) / whole, len(one)
    if n == 1:
        return ratio, None
    spread = float(((other - ratio * one) ** 2).sum()) / (n - 1)
    return ratio, math.sqrt(spread * n) / abs(whole)
