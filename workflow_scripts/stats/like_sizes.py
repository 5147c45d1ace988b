"""Models of like size: in bands of parameters, and by twos that are at most a factor of two apart."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.checks import checked_scores

FACTOR = 2.0  # between the ends of a band, and between two models of like size
_END = 5e9  # an end of a band; the others follow from it by the factor
MOST_PAIRS = 250_000  # of models that are counted; by chance so many are off by some 0.002
FEWEST = 6  # models of a band, below which their order says little


class Band(NamedTuple):
    """From `low` parameters up to below `high`."""

    low: float
    high: float
    models: pd.Index


def bands(parameters: pd.Series) -> list[Band]:
    """The models by the doublings of their parameters, smallest first: ..., 2.5 to 5, 5 to 10, 10 to 20 B.

    The ends are the same for every grid, so that bands of two grids are of the same sizes. Bands of
    fewer than six models are left out, and so are models of unknown size.
    """
    known = parameters.dropna().astype(float)
    if (known <= 0).any():
        model = known.index[known <= 0][0]
        raise ValueError(f"parameters of {model!r} is {known[model]:g}; expected a number above 0.")
    step = np.floor(np.log(known / _END) / np.log(FACTOR) + 1e-9)
    found = [
        Band(_END * FACTOR**at, _END * FACTOR ** (at + 1), models.index)
        for at, models in known.groupby(step)
    ]
    return [band for band in found if len(band.models) >= FEWEST]


class LikePairs(NamedTuple):
    """Models of like size by their places."""

    first: np.ndarray
    second: np.ndarray
    total: int
    """How many there are in all; of more than a quarter of a million so many are drawn."""


def like_pairs(parameters: pd.Series) -> LikePairs:
    """The pairs of models whose parameters are at most a factor of two apart."""
    size = np.log(parameters.astype(float).to_numpy())
    order = np.argsort(size, kind="stable")[: np.isfinite(size).sum()]
    rising = size[order]
    # Behind each model in this order stand its larger likes.
    upto = np.searchsorted(rising, rising + np.log(FACTOR) + 1e-9, "right")
    behind = upto - np.arange(len(order)) - 1
    ends = behind.cumsum()
    count = int(ends[-1]) if len(ends) else 0
    pairs = np.arange(count)
    if count > MOST_PAIRS:
        pairs = np.random.default_rng(0).integers(count, size=MOST_PAIRS)
    smaller = np.searchsorted(ends, pairs, "right")
    larger = smaller + 1 + pairs - (ends - behind)[smaller]
    return LikePairs(order[smaller], order[larger], count)


def kendall_of_pairs(scores: pd.DataFrame, like: LikePairs) -> pd.DataFrame:
    """Kendall's tau-b between any two tasks, counting these pairs of models alone.

    tau_b(a, b) = (C - D) / sqrt(N_a N_b) as in `kendall_matrix`, where all pairs are counted.
    """
    values = checked_scores(scores)
    signs = np.sign(values[like.first] - values[like.second])
    known = ~np.isnan(signs)
    order = np.where(known, signs, 0.0)
    ordered = (order * order).T @ known.astype(float)  # [a, b]: that a orders, and b has measured
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = order.T @ order / np.sqrt(ordered * ordered.T)
    return pd.DataFrame(tau, scores.columns, scores.columns)
