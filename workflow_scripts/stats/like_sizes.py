"""Models of like size: in bands of parameters, and by twos that are at most a factor of two apart."""

import numpy as np
import pandas as pd

from workflow_scripts.stats.agreement import Pairs, pair_all

FACTOR = 2.0  # between the ends of a band, and between two models of like size
END = 5e9  # an end of a band; the others follow from it by the factor
MOST_PAIRS = 250_000  # of models that are counted; by chance so many are off by some 0.002
FEWEST = 6  # models of a band, below which their order says little


def group_in_bands(parameters: pd.Series) -> list[tuple[float, float, pd.Index]]:
    """Group models by the doublings of their parameters, smallest first: ..., 2.5 to 5, 5 to 10, 10 to 20 B.

    Each band is from its low end up to below its high one. The ends are the same for every grid, so that bands of
    two grids are of the same sizes. Bands of fewer than six models are left out, and so are models of unknown size.
    """
    known = parameters.dropna().astype(float)
    step = np.floor(np.log(known / END) / np.log(FACTOR) + 1e-9)
    return [
        (END * FACTOR**at, END * FACTOR ** (at + 1), models.index)
        for at, models in known.groupby(step)
        if len(models) >= FEWEST
    ]


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
