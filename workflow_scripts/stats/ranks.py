"""Ranks, and how far they could be others."""

import numpy as np
import pandas as pd

from workflow_scripts.stats.checks import LEVEL, TAILS
from workflow_scripts.stats.principal import compute_first_component
from workflow_scripts.stats.score_errors import ScoreErrors

# Drawn at most, if that leaves as many draws of each model as ends of a 95% interval take.
MOST_RANKS, FEWEST_DRAWS = 2_500_000, 250


def ranks(values: pd.Series) -> pd.Series:
    """Rank values, 1 for the largest; equal values share the best of their ranks; NaN has none.

    Values are equal where only rounding parts them: one component of two equal models is summed twice.
    """
    return values.astype(float).round(6).rank(ascending=False, method="min")


def rank_ranges(errors: ScoreErrors, draws: int, seed: int = 0) -> pd.DataFrame:
    """Compute between which ranks each model lies by the first principal component: columns low and high.

    All scores are drawn again, components and ranks computed again, and the middle 95% of each model's
    ranks is kept, to the nearest whole ranks and widened to the rank that the measured scores give: each
    model by itself lies there with 95%. `joint_low` and `joint_high` hold for all models at once: they reach as
    many of each model's standard deviations of ranks as 95% of the draws stay within for every model.
    NaN where any score lacks its error. Of many models there are fewer draws.
    """
    names = ["low", "high", "joint_low", "joint_high"]
    if not errors.are_known:
        return pd.DataFrame(np.nan, errors.scores.index, names)
    count = len(errors.scores)
    draws = min(draws, max(MOST_RANKS // max(count, 1), FEWEST_DRAWS))
    drawn = np.stack([_rank(compute_first_component(one)) for one in errors.drawn(draws, seed)])
    spread, mean = drawn.std(axis=0).clip(min=0.5), drawn.mean(axis=0)
    reach = np.quantile((np.abs(drawn - mean) / spread).max(axis=1), LEVEL) * spread
    ends = np.rint([*np.quantile(drawn, TAILS, axis=0), mean - reach, mean + reach])
    ranges = pd.DataFrame(ends.T, errors.scores.index, names)
    now = ranks(pd.Series(compute_first_component(errors.scores.to_numpy()), ranges.index))
    lower, upper = ["low", "joint_low"], ["high", "joint_high"]
    ranges[lower] = ranges[lower].clip(1, now, axis=0)
    ranges[upper] = ranges[upper].clip(now, count, axis=0)
    return ranges


def tiers(low: pd.Series, high: pd.Series) -> pd.Series:
    """Number the tiers of models that no joint range parts from the first of their tier, from the top.

    A tier ends before the model whose best rank is worse than the worst of the tier's first.
    """
    found, tier, worst = {}, 0, -np.inf
    for label in (low + high).sort_values(kind="stable").index:
        if low[label] > worst:
            tier, worst = tier + 1, high[label]
        found[label] = tier
    return pd.Series(found, dtype=float).reindex(low.index)


def _rank(values: np.ndarray) -> np.ndarray:
    """Count how many are larger, and one."""
    return 1 + len(values) - np.searchsorted(np.sort(values), values, "right")
