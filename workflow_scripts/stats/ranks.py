"""Ranks, and how far they could be others."""

import numpy as np
import pandas as pd

from workflow_scripts.stats.checks import LEVEL, TAILS, checked_scores
from workflow_scripts.stats.principal import compute_first_component
from workflow_scripts.stats.score_errors import ScoreErrors

# Drawn at most, if that leaves as many draws of each model as ends of a 95% interval take.
MOST_RANKS, FEWEST_DRAWS = 2_500_000, 250
_ROUNDING = (
    1e-9  # of the largest value; sums in another order differ by far less, and models by more
)


def ranks(values: pd.Series) -> pd.Series:
    """1 for the largest value; equal values share the best of their ranks; NaN has none.

    Values are equal where only rounding parts them: one component of two equal models is summed twice.
    """
    known = np.sort(values.dropna().to_numpy(float))
    nearly = _ROUNDING * np.abs(known).max(initial=0.0)
    different = known[np.diff(known, prepend=-np.inf) > nearly]
    level = pd.Series(np.searchsorted(different, values, "right"), values.index)
    return level.where(values.notna()).rank(ascending=False, method="min")


def rank_ranges(errors: ScoreErrors, draws: int, seed: int = 0) -> pd.DataFrame:
    """Between which ranks each model lies by the first principal component: columns low and high.

    All scores are drawn again, components and ranks computed again, and the middle 95% of each model's
    ranks is kept, to the nearest whole ranks and widened to the rank that the measured scores give: each
    model by itself lies there with 95%. `joint_low` and `joint_high` hold for all models at once: they reach as
    many of each model's standard deviations of ranks as 95% of the draws stay within for every model.
    NaN where any score lacks its error. Missing cells are refused. Of many models there are fewer draws.
    """
    values = checked_scores(errors.scores)
    if np.isnan(values).any():
        raise ValueError("scores has missing cells; expected models that have them all.")
    if not errors.are_known:
        return pd.DataFrame(np.nan, errors.scores.index, ["low", "high", "joint_low", "joint_high"])
    draws = min(draws, max(MOST_RANKS // max(len(values), 1), FEWEST_DRAWS))
    order = np.stack([_rank(compute_first_component(one)) for one in errors.drawn(draws, seed)])
    now = ranks(pd.Series(compute_first_component(values))).to_numpy()
    low, high = np.quantile(order, TAILS, axis=0)
    spread = order.std(axis=0).clip(min=0.5)
    farthest = (np.abs(order - order.mean(axis=0)) / spread).max(axis=1)
    reach = np.quantile(farthest, LEVEL) * spread
    ends = {"low": low, "high": high}
    ends |= {"joint_low": order.mean(axis=0) - reach, "joint_high": order.mean(axis=0) + reach}
    ranges = pd.DataFrame(ends, index=errors.scores.index)
    for name in ("low", "joint_low"):
        ranges[name] = np.minimum(np.rint(ranges[name]), now).clip(1, len(now))
    for name in ("high", "joint_high"):
        ranges[name] = np.maximum(np.rint(ranges[name]), now).clip(1, len(now))
    return ranges


def tiers(low: pd.Series, high: pd.Series) -> pd.Series:
    """Models that no joint range parts from the first of their tier, from the top: 1, 2 and so on.

    A tier ends before the model whose best rank is worse than the worst of the tier's first.
    """
    order = (low + high).sort_values(kind="stable").index
    found, tier, worst = {}, 0, -np.inf
    for label in order:
        if low[label] > worst:
            tier, worst = tier + 1, high[label]
        found[label] = tier
    return pd.Series(found, dtype=float).reindex(low.index)


def _rank(values: np.ndarray) -> np.ndarray:
    """How many are larger, and one."""
    return 1 + len(values) - np.searchsorted(np.sort(values), values, "right")
