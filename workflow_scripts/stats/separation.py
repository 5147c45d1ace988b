"""Whether one model is better than another, and how sure that is.

A difference is settled that a test at 5%, both sides, shows with 80%: in four of five repetitions.
"""

import math
from functools import cache
from typing import NamedTuple

from workflow_scripts.stats.checks import TAILS

POWER = 0.8
# Student's t with so many degrees of freedom is normal for this purpose, and quicker to compute.
_LIKE_NORMAL = 10_000


class Separation(NamedTuple):
    """A difference, first minus second, and what it is uncertain by; NaN where that is not known."""

    difference: float
    stderr: float
    low: float
    high: float
    """Both ends of its 95% interval."""
    probability: float
    """That the first is better, if before the test no difference was likelier than another."""
    shows_from: float
    """The smallest difference that would have been settled."""


def separation(difference: float, stderr: float, freedom: float = math.inf) -> Separation:
    """By Student's t with so many degrees of freedom, which is normal where they are not limited.

    The probability is P(t < difference / stderr). Models without any difference and error are as likely
    one better as the other.
    """
    if not math.isfinite(stderr) or freedom < 1:
        return Separation(difference, *[math.nan] * 5)
    from scipy.stats import t  # slow to import, and needed here alone

    half = float(t.ppf(TAILS[1], freedom)) * stderr
    z = difference / stderr if stderr else math.copysign(math.inf, difference) if difference else 0
    shows = shown_from(freedom) * stderr
    likely = float(t.cdf(z, freedom))
    return Separation(difference, stderr, difference - half, difference + half, likely, shows)


@cache
def shown_from(freedom: float = math.inf) -> float:
    """How many of its standard errors a difference must have to be settled.

    The noncentrality at which Student's t exceeds its 97.5% quantile with 80%; 2.80 if normal.
    """
    from scipy.optimize import brentq
    from scipy.stats import nct, norm, t

    if freedom > _LIKE_NORMAL:
        return float(norm.ppf(TAILS[1]) + norm.ppf(POWER))
    least = float(t.ppf(TAILS[1], freedom))
    return brentq(lambda apart: nct.sf(least, freedom, apart) - POWER, 0, 2 * least + 3)
