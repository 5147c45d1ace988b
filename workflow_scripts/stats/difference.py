"""The difference of two models: its interval, and the smallest that could have been shown."""

import math
from functools import cache

from workflow_scripts.stats.checks import TAILS

POWER = 0.8
# Student's t with so many degrees of freedom is normal for this purpose, and quicker to compute.
_LIKE_NORMAL = 10_000


def estimate_difference(
    difference: float, stderr: float, freedom: float = math.inf
) -> dict[str, float]:
    """Estimate a difference, first minus second, by Student's t, which is normal without limited freedom.

    `low` and `high` are the ends of its 95% interval, `detectable` is the smallest difference that a test at 5% shows
    with a power of 80%. Where the error is not known they are NaN.
    """
    half = detectable = math.nan
    if math.isfinite(stderr) and freedom >= 1:
        from scipy.stats import t  # slow to import, and needed here alone

        half = float(t.ppf(TAILS[1], freedom)) * stderr
        detectable = compute_detectable_z(freedom) * stderr
    return {
        "difference": difference,
        "stderr": stderr,
        "low": difference - half,
        "high": difference + half,
        "detectable": detectable,
    }


@cache
def compute_detectable_z(freedom: float = math.inf) -> float:
    """Compute how many of its standard errors a difference must have to be shown with the power.

    It is the noncentrality at which Student's t exceeds its 97.5% quantile with 80%; 2.80 if normal.
    """
    from scipy.optimize import brentq
    from scipy.stats import nct, norm, t

    if freedom > _LIKE_NORMAL:
        return float(norm.ppf(TAILS[1]) + norm.ppf(POWER))
    limit = float(t.ppf(TAILS[1], freedom))
    return brentq(lambda shift: nct.sf(limit, freedom, shift) - POWER, 0, 2 * limit + 3)
