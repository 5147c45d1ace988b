"""Models in the order that significant differences alone give, and the ranks that this order leaves open."""

import numpy as np
import pandas as pd

from workflow_scripts.stats.checks import checked_errors, checked_scores

SIGNIFICANT = 1.96  # standard errors of a difference: 5% of equal models seem to differ


def surely_better(values: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """[i, j]: whether model i lies above model j by more than z = 1.96 standard errors of the difference.

    v_i - v_j > z sqrt(s_i^2 + s_j^2) is a partial order: from i above j and j above k follows
    v_i - v_k > z (s_i + s_k) >= z sqrt(s_i^2 + s_k^2), so i above k. What has no standard error is
    neither above nor below anything.
    """
    values, errors = np.asarray(values, dtype=float), np.asarray(errors, dtype=float)
    with np.errstate(invalid="ignore"):
        return values[:, None] - values > SIGNIFICANT * np.hypot(errors[:, None], errors)


def rank_bounds(values: pd.Series, errors: pd.Series) -> pd.DataFrame:
    """The best and the worst rank of each model in any ranking that keeps the partial order."""
    better = surely_better(values.to_numpy(), errors.to_numpy())
    best, worst = 1 + better.sum(axis=0), len(values) - better.sum(axis=1)
    return pd.DataFrame({"best": best, "worst": worst}, index=values.index)


def joint_ranks(scores: pd.DataFrame, stderrs: pd.DataFrame) -> pd.DataFrame:
    """Ranks on each task that keep its partial order, as alike between the tasks as it can be seen to.

    Models that a task does not part stand in the order that all tasks together suggest: significant
    differences first, as long as no task contradicts them, then the mean of their ranks. So ranks that
    differ between tasks do so because some difference is significant. No cell may be missing.
    """
    values, errors = checked_scores(scores), checked_errors(stderrs, scores)
    if np.isnan(values).any():
        raise ValueError("scores has missing cells; expected models that have them all.")
    above = np.stack([surely_better(values[:, at], errors[:, at]) for at in range(len(scores.T))])
    either = np.any(above, axis=0)
    agreed = np.asarray(either & ~either.T)
    common = _placed(agreed, scores.rank(ascending=False).mean(axis=1).to_numpy())
    return pd.DataFrame(
        np.stack([_placed(of_task, common) for of_task in above], axis=1),
        index=scores.index,
        columns=scores.columns,
    )


def opposite_pairs(scores: pd.DataFrame, stderrs: pd.DataFrame) -> int:
    """Pairs of models that one of the two tasks surely orders one way and the other the other way."""
    values, errors = checked_scores(scores), checked_errors(stderrs, scores)
    if values.shape[1] != 2:
        raise ValueError(f"scores has {values.shape[1]} tasks; expected two.")
    one, other = (surely_better(values[:, at], errors[:, at]) for at in (0, 1))
    return int((one & other.T).sum())


def _placed(above: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Places 1, 2, ...: of what has the fewest unplaced models above it, the smallest key comes next."""
    waiting, left = above.sum(axis=0).astype(float), np.ones(len(above), dtype=bool)
    places = np.empty(len(above), dtype=int)
    for place in range(1, len(above) + 1):
        free = left & (waiting == waiting[left].min())
        chosen = np.flatnonzero(free)[np.argmin(key[free])]
        places[chosen], left[chosen] = place, False
        waiting -= above[chosen]
    return places
