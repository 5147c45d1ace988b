"""What the statistics ask of their arguments, said in one sentence when it is not so."""

import numpy as np
import pandas as pd

LEVEL = 0.95  # of every interval that is reported
TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)


def checked_scores(scores: pd.DataFrame) -> np.ndarray:
    """Models in rows and tasks in columns as floats; a missing cell is NaN, nothing is infinite."""
    values = scores.to_numpy(dtype=float, na_value=np.nan)
    if np.isinf(values).any():
        row, column = np.argwhere(np.isinf(values))[0]
        raise ValueError(
            f"The score of {scores.index[row]!r} on {scores.columns[column]!r} is"
            f" {values[row, column]}; expected a finite number, or NaN for a missing cell."
        )
    return values


def checked_draws(draws: int) -> int:
    if draws < 1:
        raise ValueError(f"draws is {draws}; expected a whole number of at least 1.")
    return draws
