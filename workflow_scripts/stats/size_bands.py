"""Models of like size: in bands of parameters, and pairs that are at most a factor of two apart."""

import numpy as np
import pandas as pd

from workflow_scripts.stats.agreement import Pairs, pair_all

FACTOR = 2.0  # between the ends of a band, and between two models of like size
_BAND_END = 5e9  # the ends of the other bands follow from it by the factor
MOST_PAIRS = 250_000  # of models that are counted; by chance so many are off by some 0.002
FEWEST = 6  # models of a band, below which their order says little


def group_in_bands(parameters: pd.Series) -> list[tuple[float, float, pd.Index]]:
    """Group models by the doublings of their parameters, smallest first: ..., 2.5 to 5, 5 to 10, 10 to 20 B.

    Each band is from its low end up to below its high one. The ends are the same for every grid. Bands of
    fewer than six models are left out, and so are models of unknown size.
    """
    sizes = parameters.dropna().astype(float)
    steps = np.floor(np.log(sizes / _BAND_END) / np.log(FACTOR) + 1e-9)
    return [
        (_BAND_END * FACTOR**step, _BAND_END * FACTOR ** (step + 1), models.index)
        for step, models in sizes.groupby(steps)
        if len(models) >= FEWEST
    ]


def pair_like(parameters: pd.Series) -> Pairs:
    """Pair models whose parameters are at most a factor of two apart, by position."""
    size = np.log(parameters.astype(float).to_numpy())
    first, second = pair_all(len(size))
    like = np.abs(size[first] - size[second]) <= np.log(FACTOR) + 1e-9
    return first[like], second[like]


def draw_pairs(pairs: Pairs) -> Pairs:
    """Sample a quarter of a million of more pairs, the same each time."""
    first, second = pairs
    if len(first) <= MOST_PAIRS:
        return pairs
    sample = np.random.default_rng(0).integers(len(first), size=MOST_PAIRS)
    return first[sample], second[sample]
