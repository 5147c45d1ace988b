"""Compute ranks of models and their confidence intervals."""

import numpy as np
import pandas as pd

from workflow_scripts.stats.principal import compute_first_component
from workflow_scripts.stats.score_errors import ScoreErrors
from workflow_scripts.stats.significance import TAILS

_MAX_RANKS = (
    2_500_000  # sampled ranks of all models together; of many models there are fewer samples
)
MIN_DRAWS = 250  # fewest samples for a 95% interval


def rank_values(values: pd.Series) -> pd.Series:
    """Rank values, 1 for the largest; equal values share the best of their ranks, and NaN gets none.

    Values that differ only by rounding count as equal, since components of equal models may differ in the last digit.
    """
    return values.astype(float).round(6).rank(ascending=False, method="min")


def compute_rank_ranges(errors: ScoreErrors, draws: int, seed: int) -> pd.DataFrame:
    """Compute the 95% interval of each model's rank by the first principal component: columns low and high.

    All scores are resampled, components and ranks recomputed, and the middle 95% of each model's ranks
    taken, rounded to whole ranks and extended to include the measured rank. The coverage of 95% is per model, not
    joint. NaN if any score lacks an error. With many models there are fewer samples.
    """
    from scipy.stats import rankdata  # slow to import, used only here

    labels = errors.scores.index
    if not errors.are_known:
        return pd.DataFrame(np.nan, labels, ["low", "high"])
    draws = min(draws, max(_MAX_RANKS // max(len(labels), 1), MIN_DRAWS))
    samples = [-compute_first_component(sample) for sample in errors.draw_scores(draws, seed)]
    low, high = np.rint(np.quantile(rankdata(samples, "min", axis=1), TAILS, axis=0))
    pc1 = compute_first_component(errors.scores.to_numpy())
    measured = rank_values(pd.Series(pc1)).to_numpy()
    ends = {"low": np.minimum(low, measured), "high": np.maximum(high, measured)}
    return pd.DataFrame(ends, labels)
