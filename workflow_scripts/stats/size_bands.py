"""Group models of similar size into parameter bands and into pairs at most a factor of two apart."""

import numpy as np
import pandas as pd

from workflow_scripts.stats.agreement import Pairs, pair_all

FACTOR = 2.0  # between the ends of a band, and largest ratio of a pair of similar size
_BAND_END = 5e9  # parameters; the other bands' ends are multiples by powers of FACTOR
MOST_PAIRS = 250_000  # pairs of models that are counted; the sampling error is about 0.002
FEWEST = 6  # fewest models of a band


def group_in_bands(parameters: pd.Series) -> list[tuple[float, float, pd.Index]]:
    """Group models into bands of doubling parameters, smallest first: ..., 2.5 to 5, 5 to 10, 10 to 20 B.

    Each band includes its low end and excludes its high end. The ends are the same for every grid. Bands of
    fewer than six models and models of unknown size are left out.
    """
    sizes = parameters.dropna().astype(float)
    steps = np.floor(np.log(sizes / _BAND_END) / np.log(FACTOR) + 1e-9)
    return [
        (_BAND_END * FACTOR**step, _BAND_END * FACTOR ** (step + 1), models.index)
        for step, models in sizes.groupby(steps)
        if len(models) >= FEWEST
    ]


def pair_like(parameters: pd.Series) -> Pairs:
    """List pairs of models, by position, with parameters at most a factor of two apart."""
    size = np.log(parameters.astype(float).to_numpy())
    first, second = pair_all(len(size))
    like = np.abs(size[first] - size[second]) <= np.log(FACTOR) + 1e-9
    return first[like], second[like]


def draw_pairs(pairs: Pairs) -> Pairs:
    """Return a fixed random sample of 250,000 pairs if there are more."""
    first, second = pairs
    if len(first) <= MOST_PAIRS:
        return pairs
    sample = np.random.default_rng(0).integers(len(first), size=MOST_PAIRS)
    return first[sample], second[sample]
