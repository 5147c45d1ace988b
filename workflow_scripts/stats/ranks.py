"""Ranks of models, and the ranges that their errors leave open."""

import numpy as np
import pandas as pd

from workflow_scripts.stats.principal import compute_first_component
from workflow_scripts.stats.score_errors import ScoreErrors
from workflow_scripts.stats.significance import TAILS

# At most so many ranks are drawn in all, but of each model as many as the ends of a 95% interval take.
_MAX_RANKS, FEWEST_DRAWS = 2_500_000, 250


def ranks(values: pd.Series) -> pd.Series:
    """Rank values, 1 for the largest; equal values share the best of their ranks; NaN has none.

    Values are equal where only rounding separates them: one component of two equal models is summed twice.
    """
    return values.astype(float).round(6).rank(ascending=False, method="min")


def compute_rank_ranges(errors: ScoreErrors, draws: int, seed: int = 0) -> pd.DataFrame:
    """Compute between which ranks each model lies by the first principal component: columns low and high.

    All scores are redrawn, components and ranks computed again, and the middle 95% of each model's
    ranks is kept, to the nearest whole ranks and widened to the rank that the measured scores give: each
    model by itself lies there with 95%. NaN where any score lacks its error. Of many models there are fewer samples.
    """
    labels = errors.scores.index
    if not errors.are_known:
        return pd.DataFrame(np.nan, labels, ["low", "high"])
    draws = min(draws, max(_MAX_RANKS // max(len(labels), 1), FEWEST_DRAWS))
    samples = [_rank(compute_first_component(sample)) for sample in errors.drawn(draws, seed)]
    low, high = np.rint(np.quantile(samples, TAILS, axis=0))
    measured = ranks(pd.Series(compute_first_component(errors.scores.to_numpy()))).to_numpy()
    ends = {"low": np.minimum(low, measured), "high": np.maximum(high, measured)}
    return pd.DataFrame(ends, labels)


def _rank(values: np.ndarray) -> np.ndarray:
    """Count the larger values, and add 1."""
    return 1 + len(values) - np.searchsorted(np.sort(values), values, "right")
