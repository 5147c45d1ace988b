"""Ranks of models, and the ranges that their errors leave open."""

import numpy as np
import pandas as pd

from workflow_scripts.stats.principal import compute_first_component
from workflow_scripts.stats.score_errors import ScoreErrors
from workflow_scripts.stats.significance import LEVEL, TAILS

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
    model by itself lies there with 95%. `joint_low` and `joint_high` hold for all models at once: they reach as
    many of each model's standard deviations of ranks as 95% of the samples stay within for every model.
    NaN where any score lacks its error. Of many models there are fewer samples.
    """
    labels = errors.scores.index
    if not errors.are_known:
        return pd.DataFrame(np.nan, labels, ["low", "high", "joint_low", "joint_high"])
    count = len(labels)
    draws = min(draws, max(_MAX_RANKS // max(count, 1), FEWEST_DRAWS))
    samples = np.stack(
        [_rank(compute_first_component(sample)) for sample in errors.drawn(draws, seed)]
    )
    spread, mean = samples.std(axis=0).clip(min=0.5), samples.mean(axis=0)
    reach = np.quantile((np.abs(samples - mean) / spread).max(axis=1), LEVEL) * spread
    ends = [*np.quantile(samples, TAILS, axis=0), mean - reach, mean + reach]
    low, high, joint_low, joint_high = np.rint(ends)
    measured = ranks(pd.Series(compute_first_component(errors.scores.to_numpy()))).to_numpy()
    ranges = {
        "low": low.clip(1, measured),
        "high": high.clip(measured, count),
        "joint_low": joint_low.clip(1, measured),
        "joint_high": joint_high.clip(measured, count),
    }
    return pd.DataFrame(ranges, labels)


def tiers(low: pd.Series, high: pd.Series) -> pd.Series:
    """Number the tiers of models that no joint range separates from the first of their tier, from the top.

    A tier ends before the model whose best rank is worse than the worst of the tier's first.
    """
    numbers, tier, worst = {}, 0, -np.inf
    for label in (low + high).sort_values(kind="stable").index:
        if low[label] > worst:
            tier, worst = tier + 1, high[label]
        numbers[label] = tier
    return pd.Series(numbers, dtype=float).reindex(low.index)


def _rank(values: np.ndarray) -> np.ndarray:
    """Count the larger values, and add 1."""
    return 1 + len(values) - np.searchsorted(np.sort(values), values, "right")
