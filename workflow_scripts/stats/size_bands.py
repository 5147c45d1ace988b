"""Group models of similar size into bands of parameters."""

import numpy as np
import pandas as pd

FACTOR = 2.0  # between the ends of a band
_BAND_END = 5e9  # parameters; the other bands' ends are multiples by powers of FACTOR
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
