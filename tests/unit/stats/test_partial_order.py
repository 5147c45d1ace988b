"""Compare rank bounds from significant differences with an enumeration of all orders, on random scores."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from tests.unit.stats.random_scores import build_score_errors, make_random_scores
from workflow_scripts.stats.partial_order import (
    compute_joint_ranks,
    compute_partial_orders,
    compute_rank_bounds,
)


def draw_errors(scores: pd.DataFrame, seed: int, largest: float = 0.6) -> pd.DataFrame:
    values = np.random.default_rng(seed + 100).uniform(0.05, largest, scores.shape)
    return pd.DataFrame(values, scores.index, scores.columns)


@pytest.mark.parametrize("seed", range(2))
def test_rank_bounds_match_all_orders(seed):
    scores = make_random_scores(seed, models=6, tasks=1)
    stderrs = draw_errors(scores, seed, largest=1.0)
    value, error = scores.to_numpy()[:, 0], stderrs.to_numpy()[:, 0]
    margin = 1.96 * np.hypot.outer(error, error)
    above = np.argwhere(np.subtract.outer(value, value) > margin)
    orders = np.array(list(permutations(range(6))))  # ranks of the models, from 0
    allowed = orders[(orders[:, above[:, 0]] < orders[:, above[:, 1]]).all(axis=1)]
    best, worst = compute_rank_bounds(
        compute_partial_orders(build_score_errors(scores, stderrs))[0]
    )
    assert (best == 1 + allowed.min(axis=0)).all() and (worst == 1 + allowed.max(axis=0)).all()


@pytest.mark.parametrize("seed", range(2))
def test_joint_ranks_respect_partial_orders(seed):
    scores = make_random_scores(seed, models=25, tasks=2)
    errors = build_score_errors(scores, draw_errors(scores, seed), 0.1 * seed, 0.05)
    orders = compute_partial_orders(errors)
    ranks = compute_joint_ranks(errors, orders)
    for task, above in zip(scores, orders, strict=True):
        assert ((above.astype(int) @ above > 0) <= above).all(), "it is transitive"
        best, worst = compute_rank_bounds(above)
        assert sorted(ranks[task]) == list(range(1, 26))
        assert ranks[task].between(best, worst).all()
        first, second = np.nonzero(above)
        assert (ranks[task].to_numpy()[first] < ranks[task].to_numpy()[second]).all()
