"""Whether one model is better than another, how sure that is, and how much it takes to settle it.

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


def items_needed(difference: float, stderr: float) -> float:
    """How many times as many items would settle this difference, whose error from items falls as 1 / √n."""
    if math.isnan(stderr):
        return math.nan
    return (shown_from() * stderr / difference) ** 2 if difference else math.inf


def seeds_needed(difference: float, items: float, training: float) -> float:
    """How many trainings of each model would settle it: a whole number, or infinity.

    `items` and `training` are standard errors of the difference, the second with one training of each. The
    items stay the same whatever the number of trainings, and may leave too much by themselves.
    """
    if math.isnan(items) or math.isnan(training):
        return math.nan
    room = (difference / shown_from()) ** 2 - items**2
    return max(1, math.ceil(training**2 / room)) if room > 0 else math.inf


def tasks_needed(difference: float, spread: float) -> float:
    """How many tasks would settle it whose differences have this standard deviation, by Student's t."""
    if math.isnan(spread):
        return math.nan
    if not difference:
        return math.inf
    normal = (shown_from() * spread / difference) ** 2
    # Student's t takes a few more than that.
    tasks = max(2, math.ceil(normal))
    while shown_from(tasks - 1) * spread / math.sqrt(tasks) > abs(difference):
        tasks += 1
    return tasks
