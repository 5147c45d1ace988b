"""Models in the order that significant differences alone give, and the ranks that this order leaves open."""

import numpy as np
import pandas as pd

from workflow_scripts.stats.checks import checked_scores
from workflow_scripts.stats.score_errors import ScoreErrors

_AT_ONCE = 1_000_000  # differences whose errors are held at once
SIGNIFICANT = 1.96  # standard errors of a difference: 5% of equal models seem to differ


def surely_better(values: np.ndarray, errors: np.ndarray, rows: slice = slice(None)) -> np.ndarray:
    """[i, j]: whether model i lies above model j by more than z = 1.96 standard errors of the difference.

    `errors` has the error of each difference, of the models i in these rows. They are lengths d of differences of
    what is drawn, so that d_ik <= d_ij + d_jk, and the order is partial: from i above j and j above k follows
    v_i - v_k > z (d_ij + d_jk) >= z d_ik, so i above k. What has no error is neither above nor below.
    """
    with np.errstate(invalid="ignore"):
        return values[rows, None] - values > SIGNIFICANT * errors


def rank_bounds(better: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best and the worst rank of each model in any ranking that keeps a task's partial order."""
    return 1 + better.sum(axis=0), len(better) - better.sum(axis=1)


def joint_ranks(errors: ScoreErrors, above: np.ndarray) -> pd.DataFrame:
    """Ranks on each task that keep its partial order, as alike between the tasks as it can be seen to.

    Models that a task does not part stand in the order that all tasks together suggest: significant
    differences first, as long as no task contradicts them, then the mean of their ranks. So ranks that
    differ between tasks do so because some difference is significant. Models with the same scores and
    errors on all tasks share the best of their places. No cell may be missing. `above` has the orders of
    the tasks (`partial_orders`).
    """
    scores = errors.scores
    if np.isnan(checked_scores(scores)).any():
        raise ValueError("scores has missing cells; expected models that have them all.")
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


def opposed_models(above: np.ndarray) -> np.ndarray:
    """Of each model the number of others that one of the two tasks surely puts above it, the other below."""
    if len(above) != 2:
        raise ValueError(f"above has {len(above)} tasks; expected two.")
    one, other = above
    return ((one & other.T) | (one.T & other)).sum(axis=1)


def partial_orders(errors: ScoreErrors) -> np.ndarray:
    """By task, which model lies surely above which; a byte for every two, computed some models at a time."""
    values = checked_scores(errors.scores)
    count, tasks = values.shape
    above, step = np.empty((tasks, count, count), bool), _AT_ONCE // max(count, 1) or 1
    for start in range(0, count, step):
        rows = slice(start, min(start + step, count))
        first, second = np.divmod(np.arange(rows.start * count, rows.stop * count), count)
        apart = errors.of_differences(first, second).reshape(-1, count, tasks)
        for at in range(tasks):
            above[at, rows] = surely_better(values[:, at], apart[:, :, at], rows)
    return above


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
