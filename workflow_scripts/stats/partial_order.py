"""Order models by significant differences only, and compute the ranks that this partial order allows."""

import numpy as np
import pandas as pd

from workflow_scripts.stats.score_errors import ScoreErrors

CRITICAL_Z = 1.96  # a difference of more standard errors is significant at the 5% level


def compute_partial_orders(errors: ScoreErrors) -> np.ndarray:
    """Compute [task, i, j]: whether model i is above j by more than z = 1.96 standard errors of the difference.

    The standard errors d satisfy the triangle inequality d_ik <= d_ij + d_jk, so the order is transitive: i above j
    and j above k imply v_i - v_k > z (d_ij + d_jk) >= z d_ik, so i is above k. A model without an error is neither
    above nor below another.
    """
    values = errors.scores.to_numpy(dtype=float)
    models = np.arange(len(values))
    # The error of a model's difference from itself is meaningless, but the difference, 0, exceeds none.
    above = [
        values[model] - values
        > CRITICAL_Z * errors.compute_difference_stderrs(np.full_like(models, model), models)
        for model in models
    ]
    return np.array(above, bool).reshape(*models.shape, *values.shape).transpose(2, 0, 1)


def compute_rank_bounds(above: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the best and the worst rank of each model over all rankings consistent with a task's partial order."""
    return 1 + above.sum(axis=0), len(above) - above.sum(axis=1)


def compute_joint_ranks(errors: ScoreErrors, orders: np.ndarray) -> pd.DataFrame:
    """Rank models on each task consistently with its partial order and as similarly between tasks as possible.

    Models that a task does not separate are ordered by all tasks together: first by significant
    differences that no task contradicts, then by mean rank. So ranks differ between tasks only because of
    significant differences. Models with equal scores and errors on all tasks share the best of their
    ranks. No cell may be missing. `orders` are the partial orders of the tasks (`compute_partial_orders`).
    """
    scores = errors.scores
    on_any_task = np.asarray(orders.any(axis=0))
    mean_ranks = scores.rank(ascending=False).mean(axis=1).to_numpy()
    common_ranks = _extend_order(on_any_task & ~on_any_task.T, mean_ranks)
    ranks = np.stack([_extend_order(order, common_ranks) for order in orders], axis=1)
    rounded = np.hstack([scores, errors.stderrs.fillna(-1).round(9)])
    equal_models = np.unique(rounded, axis=0, return_inverse=True)[1].ravel()
    return pd.DataFrame(ranks, scores.index, scores.columns).groupby(equal_models).transform("min")


def count_opposed_models(orders: np.ndarray) -> np.ndarray:
    """Count for each model the others that are significantly above it on one of two tasks and below on the other."""
    first, second = orders
    return ((first & second.T) | (first.T & second)).sum(axis=1)


def _extend_order(above: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Assign ranks 1, 2, ...: the next model has the fewest unranked models above it, then the smallest key."""
    num_above = above.sum(axis=0).astype(float)
    is_unranked = np.ones(len(above), dtype=bool)
    ranks = np.empty(len(above), dtype=int)
    for rank in range(1, len(above) + 1):
        candidates = np.flatnonzero(is_unranked & (num_above == num_above[is_unranked].min()))
        model = candidates[np.argmin(key[candidates])]
        ranks[model] = rank
        is_unranked[model] = False
        num_above -= above[model]
    return ranks
