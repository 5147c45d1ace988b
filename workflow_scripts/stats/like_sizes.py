"""Models of like size: in bands of parameters, and by twos that are at most a factor of two apart."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.agreement import Pairs, pair_all

FACTOR = 2.0  # between the ends of a band, and between two models of like size
_END = 5e9  # an end of a band; the others follow from it by the factor
MOST_PAIRS = 250_000  # of models that are counted; by chance so many are off by some 0.002
FEWEST = 6  # models of a band, below which their order says little


class Band(NamedTuple):
    """From `low` parameters up to below `high`."""

    low: float
    high: float
    models: pd.Index


def group_in_bands(parameters: pd.Series) -> list[Band]:
    """Group models by the doublings of their parameters, smallest first: ..., 2.5 to 5, 5 to 10, 10 to 20 B.

    The ends are the same for every grid, so that bands of two grids are of the same sizes. Bands of
    fewer than six models are left out, and so are models of unknown size.
    """
    known = parameters.dropna().astype(float)
    step = np.floor(np.log(known / _END) / np.log(FACTOR) + 1e-9)
    found = [
        Band(_END * FACTOR**at, _END * FACTOR ** (at + 1), models.index)
        for at, models in known.groupby(step)
    ]
    return [band for band in found if len(band.models) >= FEWEST]


def pair_like(parameters: pd.Series) -> Pairs:
    """Pair models whose parameters are at most a factor of two apart, by their places."""
    size = np.log(parameters.astype(float).to_numpy())
    first, second = pair_all(len(size))
    like = np.abs(size[first] - size[second]) <= np.log(FACTOR) + 1e-9
    return first[like], second[like]


def draw_pairs(pairs: Pairs) -> Pairs:
    """Draw a quarter of a million of more pairs, the same each time."""
    first, second = pairs
    if len(first) <= MOST_PAIRS:
        return pairs
    drawn = np.random.default_rng(0).integers(len(first), size=MOST_PAIRS)
    return first[drawn], second[drawn]
