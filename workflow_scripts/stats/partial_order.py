"""Models in the order that significant differences alone give, and the ranks that this order leaves open."""

import numpy as np
import pandas as pd

from workflow_scripts.stats.checks import checked_scores
from workflow_scripts.stats.score_errors import ScoreErrors

SIGNIFICANT = 1.96  # standard errors of a difference: 5% of equal models seem to differ


def surely_better(values: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """[i, j]: whether model i lies above model j by more than z = 1.96 standard errors of the difference.

    `errors` has the error of each difference. They are lengths d of differences of what is drawn, so
    that d_ik <= d_ij + d_jk, and the order is partial: from i above j and j above k follows
    v_i - v_k > z (d_ij + d_jk) >= z d_ik, so i above k. What has no error is neither above nor below.
    """
    with np.errstate(invalid="ignore"):
        return values[:, None] - values > SIGNIFICANT * errors


def rank_bounds(errors: ScoreErrors, task: str) -> pd.DataFrame:
    """The best and the worst rank of each model in any ranking that keeps the task's partial order."""
    better = _above(errors)[list(errors.scores).index(task)]
    best, worst = 1 + better.sum(axis=0), len(better) - better.sum(axis=1)
    return pd.DataFrame({"best": best, "worst": worst}, index=errors.scores.index)


def joint_ranks(errors: ScoreErrors) -> pd.DataFrame:
    """Ranks on each task that keep its partial order, as alike between the tasks as it can be seen to.

    Models that a task does not part stand in the order that all tasks together suggest: significant
    differences first, as long as no task contradicts them, then the mean of their ranks. So ranks that
    differ between tasks do so because some difference is significant. Models with the same scores and
    errors on all tasks share the best of their places. No cell may be missing.
    """
    scores = errors.scores
    if np.isnan(checked_scores(scores)).any():
        raise ValueError("scores has missing cells; expected models that have them all.")
    above = _above(errors)
    either = np.any(above, axis=0)
    agreed = np.asarray(either & ~either.T)
    common = _placed(agreed, scores.rank(ascending=False).mean(axis=1).to_numpy())
    places = pd.DataFrame(
        np.stack([_placed(of_task, common) for of_task in above], axis=1),
        index=scores.index,
        columns=scores.columns,
    )
    alike = np.hstack([scores, errors.stderrs.fillna(-1).round(9)])
    same = np.unique(alike, axis=0, return_inverse=True)[1].ravel()
    return places.groupby(same).transform("min")


def opposed_models(errors: ScoreErrors) -> pd.Series:
    """Of each model the number of others that one of the two tasks surely puts above it, the other below."""
    if errors.scores.shape[1] != 2:
        raise ValueError(f"scores has {errors.scores.shape[1]} tasks; expected two.")
    one, other = _above(errors)
    opposed = (one & other.T) | (one.T & other)
    return pd.Series(opposed.sum(axis=1), errors.scores.index)


def _above(errors: ScoreErrors) -> np.ndarray:
    """By task, which model lies surely above which."""
    values = checked_scores(errors.scores)
    count = len(values)
    first, second = np.divmod(np.arange(count**2), count)
    apart = errors.of_differences(first, second).reshape(count, count, values.shape[1])
    return np.stack(
        [surely_better(values[:, at], apart[:, :, at]) for at in range(values.shape[1])]
    )


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
