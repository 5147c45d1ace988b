"""Confidence intervals over model families: the uncertainty from the choice of families."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.significance import TAILS

_MIN_FAMILIES = 4  # with fewer families, single models are left out instead
# More than _MAX_GROUPS families are split into _RANDOM_GROUPS random groups: each group costs one evaluation of
# the statistic, and a few dozen suffice to estimate its variance.
_MAX_GROUPS = 64
_RANDOM_GROUPS = 24


class JackknifeInterval(NamedTuple):
    """A statistic of all models, an array or a number, with the ends of its interval."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    groups: int
    """Number of jackknife groups."""
    unit: str
    """What a group is: `families`, `models`, or random `groups` of families."""


def group_families(families: pd.Series) -> tuple[np.ndarray, str]:
    """Number the jackknife group of each model: its family, or each model alone if there are too few families.

    Return the numbers, and what a group is. A model of unknown family is a separate group. More than 64 groups are
    merged into 24 at random.
    """
    groups, names = pd.factorize(families.astype(object).fillna(families.index.to_series()))
    unit = "families"
    count = len(names)
    if count < _MIN_FAMILIES:
        unit = "models"
        count = len(families)
        groups = np.arange(count)
    if count <= _MAX_GROUPS:
        return groups, unit
    return (np.random.default_rng(0).permutation(count) % _RANDOM_GROUPS)[groups], "groups"


def compute_family_jackknife(
    statistic: Callable[[np.ndarray], np.ndarray | float], families: pd.Series
) -> JackknifeInterval:
    """Compute the statistic's 95% interval by leaving out one family at a time.

    `statistic` takes the mask of the models to keep. It is x with all models, and x_(j) without family j. With g
    families of n_j models, n together, and h_j = n / n_j, the pseudo-values p_j = h_j x - (h_j - 1) x_(j) have the
    variance sum (p_j - mean)^2 / (h_j - 1) / g (the jackknife for groups of unequal size), and the interval is
    Student's with g - 1 degrees of freedom. With fewer than three groups its ends are NaN.
    """
    from scipy.stats import t  # slow to import, used only here

    groups, unit = group_families(families)
    sizes = np.bincount(groups, minlength=1)
    whole = np.asarray(statistic(np.ones(len(groups), dtype=bool)), dtype=float)
    if len(sizes) < 3:
        return JackknifeInterval(whole, whole * np.nan, whole * np.nan, len(sizes), unit)
    without = np.stack([statistic(groups != group) for group in range(len(sizes))])
    h = (len(groups) / sizes).reshape(-1, *[1] * whole.ndim)
    pseudo = h * whole - (h - 1) * without
    estimate = len(sizes) * whole - ((1 - 1 / h) * without).sum(axis=0)
    variance = ((pseudo - estimate) ** 2 / (h - 1)).mean(axis=0)
    half_width = t.ppf(TAILS[1], len(sizes) - 1) * np.sqrt(variance)
    return JackknifeInterval(whole, whole - half_width, whole + half_width, len(sizes), unit)
