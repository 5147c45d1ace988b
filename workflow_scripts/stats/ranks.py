"""Ranks, and how far they could be others."""

import numpy as np
import pandas as pd

from workflow_scripts.stats.checks import TAILS, checked_scores
from workflow_scripts.stats.noise import redraws
from workflow_scripts.stats.principal import first_components


def ranks(values: pd.Series) -> pd.Series:
    """1 for the largest value; equal values share the best of their ranks; NaN has none."""
    return values.rank(ascending=False, method="min")


def rank_ranges(
    scores: pd.DataFrame, stderrs: pd.DataFrame, draws: int, seed: int = 0
) -> pd.DataFrame:
    """Between which ranks each model lies by the first principal component: columns low and high.

    All scores are drawn again within their standard errors, components and ranks computed again, and
    the middle 95% of each model's ranks is kept, widened to whole ranks and to the rank that the
    measured scores give. NaN where any score lacks its standard error. Missing cells are refused.
    """
    values = checked_scores(scores)
    if np.isnan(values).any():
        raise ValueError("scores has missing cells; expected models that have them all.")
    if stderrs.isna().to_numpy().any():
        return pd.DataFrame({"low": np.nan, "high": np.nan}, index=scores.index)
    # One after the other: all draws of many models at once would fill the memory.
    drawn = (first_components(one[None]) for one in redraws(scores, stderrs, draws, seed))
    order = _ranks_by_row(np.concatenate(list(drawn)))
    low, high = np.quantile(order, TAILS, axis=0)
    now = _ranks_by_row(first_components(values[None]))[0]
    return pd.DataFrame(
        {"low": np.minimum(np.floor(low), now), "high": np.maximum(np.ceil(high), now)},
        index=scores.index,
    )


def _ranks_by_row(values: np.ndarray) -> np.ndarray:
    """How many in its row are larger, and one."""
    return np.stack([1 + len(row) - np.searchsorted(np.sort(row), row, "right") for row in values])
