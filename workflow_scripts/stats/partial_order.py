"""Order models by significant differences only, and compute the ranks that this partial order allows."""

import numpy as np
import pandas as pd

from workflow_scripts.stats.score_errors import ScoreErrors

SIGNIFICANT = 1.96  # standard errors of a significant difference at the 5% level


def compute_partial_orders(errors: ScoreErrors) -> np.ndarray:
    """Compute [task, i, j]: whether model i is above j by more than z = 1.96 standard errors of the difference.

    The standard errors d satisfy the triangle inequality d_ik <= d_ij + d_jk, so the order is transitive: i above j
    and j above k imply v_i - v_k > z (d_ij + d_jk) >= z d_ik, so i is above k. A model without an error is neither
    above nor below another.
    """
    values, models = errors.scores.to_numpy(dtype=float), np.arange(len(errors.scores))
    # No model is above itself, whatever the error of that difference: it is 0.
    above = [
        values[model] - values
        > SIGNIFICANT * errors.compute_difference_stderrs(np.full_like(models, model), models)
        for model in models
    ]
    return np.array(above, bool).reshape(*models.shape, *values.shape).transpose(2, 0, 1)


def compute_rank_bounds(better: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the best and the worst rank of each model over all rankings consistent with a task's partial order."""
    return 1 + better.sum(axis=0), len(better) - better.sum(axis=1)


def compute_joint_ranks(errors: ScoreErrors, above: np.ndarray) -> pd.DataFrame:
    """Rank models on each task consistently with its partial order and as similarly between tasks as possible.

    Models that a task does not separate are ordered by all tasks together: first by significant
    differences that no task contradicts, then by mean rank. So ranks differ between tasks only because of
    significant differences. Models with equal scores and errors on all tasks share the best of their
    ranks. No cell may be missing. `above` has the partial orders of the tasks (`compute_partial_orders`).
    """
    scores = errors.scores
    either = np.asarray(above.any(axis=0))
    common = _place(either & ~either.T, scores.rank(ascending=False).mean(axis=1).to_numpy())
    places = np.stack([_place(better, common) for better in above], axis=1)
    rounded = np.hstack([scores, errors.stderrs.fillna(-1).round(9)])
    same = np.unique(rounded, axis=0, return_inverse=True)[1].ravel()
    return pd.DataFrame(places, scores.index, scores.columns).groupby(same).transform("min")


def count_opposed_models(above: np.ndarray) -> np.ndarray:
    """Count for each model the others that are significantly above it on one of two tasks and below on the other."""
    first, second = above
    return ((first & second.T) | (first.T & second)).sum(axis=1)


def _place(above: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Assign ranks 1, 2, ...: the next model has the fewest unranked models above it, then the smallest key."""
    waiting, left = above.sum(axis=0).astype(float), np.ones(len(above), dtype=bool)
    places = np.empty(len(above), dtype=int)
    for place in range(1, len(above) + 1):
        free = np.flatnonzero(left & (waiting == waiting[left].min()))
        model = free[np.argmin(key[free])]
        places[model], left[model] = place, False
        waiting -= above[model]
    return places
