"""Where one more value of a kind is expected, from those that were seen."""

import math
import statistics
from collections.abc import Sequence


def one_more(values: Sequence[float], share: float = 0.95) -> tuple[float, float | None]:
    """Their mean, and how far from it one more lies at most in that share of cases; None from one value alone.

    The usual prediction interval of normal values: t(n - 1) times s times sqrt(1 + 1 / n).
    """
    if not (n := len(values)):
        raise ValueError("values is empty; expected at least one.")
    mean = statistics.fmean(values)
    if n == 1:
        return mean, None
    from scipy.stats import t  # of what is slow to import, where it is needed

    spread = statistics.stdev(values) * math.sqrt(1 + 1 / n)
    return mean, float(t.ppf((1 + share) / 2, n - 1)) * spread
