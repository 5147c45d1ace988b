"""Intervals over models, which come in families: had other families of models been taken."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.checks import TAILS

# Of fewer families, models are left out one by one, and the interval is of such families alone.
FEWEST_FAMILIES = 4
# Of more than so many, what is left out in turn are so many groups of them, dealt at random: each takes the
# statistic of all others, and a few dozen say how it varies.
MOST, DEALT = 64, 24


class Reach(NamedTuple):
    """Both ends of an interval for each number, and what was left out in turn: families or models."""

    low: np.ndarray
    high: np.ndarray
    groups: int
    of: str


def few_groups(families: pd.Series) -> tuple[np.ndarray, str]:
    """Number what each model is left out with: its family, or itself where the families are too few.

    A model of no known family is one by itself. More than 64 are dealt into 24 groups at random.
    """
    names = families.astype(object).reset_index(drop=True)
    groups = pd.factorize(names.fillna(names.index.to_series()))[0]
    of = "families"
    if groups.max(initial=-1) + 1 < FEWEST_FAMILIES:
        groups, of = np.arange(len(groups)), "models"
    count = groups.max(initial=-1) + 1
    if count <= MOST:
        return groups, of
    return (np.random.default_rng(0).permutation(count) % DEALT)[groups], "groups"


def over_families(statistic: Callable[[np.ndarray], np.ndarray], families: pd.Series) -> Reach:
    """Compute the statistic's 95% interval by leaving out one family at a time.

    `statistic` is given which models to keep. With g families of n_j models, n together, and
    h_j = n / n_j, the pseudo-values p_j = h_j x - (h_j - 1) x_(j) have the variance
    sum (p_j - mean)^2 / (h_j - 1) / g (the jackknife for groups of unequal size), and the interval is
    Student's with g - 1 degrees of freedom: six families say little of a seventh, and it is as wide.
    Of fewer than three there is none.
    """
    groups, of = few_groups(families)
    sizes = np.bincount(groups, minlength=1)
    whole = np.asarray(statistic(np.ones(len(groups), dtype=bool)), dtype=float)
    if len(sizes) < 3:
        nothing = np.full_like(whole, np.nan)
        return Reach(nothing, nothing, len(sizes), of)
    without = np.stack([statistic(groups != group) for group in range(len(sizes))])
    h = (len(groups) / sizes).reshape(-1, *[1] * whole.ndim)
    pseudo = h * whole - (h - 1) * without
    estimate = len(sizes) * whole - ((1 - 1 / h) * without).sum(axis=0)
    variance = ((pseudo - estimate) ** 2 / (h - 1)).mean(axis=0)
    from scipy.stats import t  # slow to import, and needed here alone

    half = t.ppf(TAILS[1], len(sizes) - 1) * np.sqrt(variance)
    return Reach(whole - half, whole + half, len(sizes), of)
