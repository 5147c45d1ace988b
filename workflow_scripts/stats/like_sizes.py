"""Models of like size: in bands of parameters, and by twos that are at most a factor of two apart."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.checks import checked_scores

FACTOR = 2.0  # between the ends of a band, and between two models of like size
_END = 5e9  # an end of a band; the others follow from it by the factor
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


def like_pairs(parameters: pd.Series) -> np.ndarray:
    """Models by models, whether their parameters are at most a factor of two apart; not one with itself."""
    size = np.log(parameters.astype(float).to_numpy())
    like = np.abs(size[:, None] - size) <= np.log(FACTOR) + 1e-9
    np.fill_diagonal(like, False)
    return like


def kendall_of_pairs(scores: pd.DataFrame, like: np.ndarray) -> pd.DataFrame:
    """Kendall's tau-b between any two tasks, counting these pairs of models alone.

    tau_b(a, b) = (C - D) / sqrt(N_a N_b) as in `kendall_matrix`, where all pairs are counted.
    """
    values, pairs = checked_scores(scores), np.nonzero(np.triu(like))
    signs = np.sign(values[pairs[0]] - values[pairs[1]])
    known = ~np.isnan(signs)
    order = np.where(known, signs, 0.0)
    ordered = (order * order).T @ known.astype(float)  # [a, b]: that a orders, and b has measured
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = order.T @ order / np.sqrt(ordered * ordered.T)
    return pd.DataFrame(tau, scores.columns, scores.columns)
