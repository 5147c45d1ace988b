"""Intervals over models, which come in families: had other families of models been taken."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.checks import TAILS

# Of what is left out in turn, and of families: of fewer, models are taken one by one, and the interval is of
# such families alone.
_FEWEST, _FEWEST_FAMILIES = 3, 4
# Of more than so many, what is left out in turn are so many groups of them, dealt at random: each takes the
# statistic of all others, and a few dozen say how it varies.
_MOST, _DEALT = 64, 24


class Reach(NamedTuple):
    """Both ends of an interval for each number, and what was left out in turn: families or models."""

    low: np.ndarray
    high: np.ndarray
    groups: int
    of: str


def groups_of(families: pd.Series) -> tuple[np.ndarray, str]:
    """A number for each model: that of its family, or where these are too few its own.

    A model of no known family is one by itself.
    """
    unknown = families.isna()
    named = families.astype(object).where(~unknown, [f"\0{at}" for at in range(len(families))])
    codes, names = pd.factorize(named)
    if len(names) < _FEWEST_FAMILIES:
        return np.arange(len(families)), "models"
    return codes, "families"


def few_groups(families: pd.Series) -> tuple[np.ndarray, str]:
    """The same, dealt into 24 groups at random where they are more than 64."""
    groups, of = groups_of(families)
    if (found := groups.max(initial=-1) + 1) <= _MOST:
        return groups, of
    dealt = np.random.default_rng(0).permutation(found) % _DEALT
    return dealt[groups], "groups"


def over_families(statistic: Callable[[np.ndarray], np.ndarray], families: pd.Series) -> Reach:
    """The statistic's 95% interval by leaving out one family at a time.

    `statistic` is given which models to keep. With g families of n_j models, n together, and
    h_j = n / n_j, the pseudo-values p_j = h_j x - (h_j - 1) x_(j) have the variance
    sum (p_j - mean)^2 / (h_j - 1) / g (the jackknife for groups of unequal size), and the interval is
    Student's with g - 1 degrees of freedom: six families say little of a seventh, and it is as wide.
    More than 64 families, or models, are first dealt into 24 groups.
    """
    groups, of = few_groups(families)
    count = np.bincount(groups, minlength=1)
    whole = np.asarray(statistic(np.ones(len(groups), dtype=bool)), dtype=float)
    if len(count) < _FEWEST:
        nothing = np.full_like(whole, np.nan)
        return Reach(nothing, nothing, len(count), of)
    without = np.stack([statistic(groups != at) for at in range(len(count))])
    h = (len(groups) / count).reshape(-1, *[1] * whole.ndim)
    pseudo = h * whole - (h - 1) * without
    estimate = len(count) * whole - ((1 - 1 / h) * without).sum(axis=0)
    variance = ((pseudo - estimate) ** 2 / (h - 1)).mean(axis=0)
    from scipy.stats import t  # slow to import, and needed here alone

    half = t.ppf(TAILS[1], len(count) - 1) * np.sqrt(variance)
    return Reach(whole - half, whole + half, len(count), of)
