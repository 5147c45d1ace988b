"""Two runs on the same questions: is one better, or did a few answers fall differently?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest


@dataclass(frozen=True)
class McNemar:
    """What changed from the first to the second, and how surprising that is."""

    won: int  # wrong in the first, right in the second
    lost: int  # right in the first, wrong in the second
    p: float


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> McNemar:
    """McNemar's exact test of paired right-or-wrong answers.

    Only questions on which the two differ say anything. Of these, won + lost = m, each is as likely
    won as lost if neither is better, so that won ~ Binomial(m, 1/2) and, two-sided,

        p = min(1, 2 * sum over k <= min(won, lost) of C(m, k) / 2^m),

    which is 1 where m = 0. Exact for any m, unlike the chi-squared form, which needs many.
    """
    first, second = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(
            f"The two runs have the shapes {first.shape} and {second.shape}; expected two lists of"
            " the same length."
        )
    won, lost = int((~first & second).sum()), int((first & ~second).sum())
    p = binomtest(won, won + lost).pvalue if won + lost else 1.0
    return McNemar(won, lost, float(p))
