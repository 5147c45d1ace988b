"""Ranks that significant differences alone fix: against a plain walk over all orders, on random scores."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from tests.unit.stats.random_scores import SEEDS, random_scores, with_errors
from workflow_scripts.stats import partial_order
from workflow_scripts.stats.partial_order import (
    SIGNIFICANT,
    joint_ranks,
    opposed_models,
    partial_orders,
    rank_bounds,
)


def errors_like(scores: pd.DataFrame, seed: int, most: float = 0.6) -> pd.DataFrame:
    drawn = np.random.default_rng(seed + 100).uniform(0.05, most, scores.shape)
    return pd.DataFrame(drawn, scores.index, scores.columns)


def above(values: pd.Series, errors: pd.Series, one: str, other: str) -> bool:
    """The rule as it is published: higher by more than 1.96 standard errors of the difference."""
    return values[one] > values[other] + 1.96 * (errors[one] ** 2 + errors[other] ** 2) ** 0.5


@pytest.mark.parametrize("seed", SEEDS)
def test_the_bounds_are_the_least_and_the_greatest_rank_of_all_orders_that_keep_the_rule(seed):
    scores = random_scores(seed, models=6, tasks=1)
    values, errors = scores["task 0"], errors_like(scores, seed, most=1.0)["task 0"]
    forced = [
        (one, other)
        for one in values.index
        for other in values.index
        if above(values, errors, one, other)
    ]
    found: dict[str, set[int]] = {name: set() for name in values.index}
    for order in permutations(values.index):
        rank = {name: at for at, name in enumerate(order, 1)}
        if all(rank[one] < rank[other] for one, other in forced):
            for name in order:
                found[name].add(rank[name])
    best, worst = rank_bounds(partial_orders(with_errors(scores, errors.to_frame()))[0])
    ends = zip(best, worst, strict=True)
    assert {name: (min(seen), max(seen)) for name, seen in found.items()} == dict(
        zip(values.index, ends, strict=True)
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_what_lies_above_what_lies_above_a_third_lies_above_it_too(seed):
    scores = random_scores(seed, models=40, tasks=1)
    known = with_errors(scores, errors_like(scores, seed), 0.1 * (seed % 10), 0.05)
    (order,) = partial_orders(known)
    assert not (order & order.T).any()
    assert ((order.astype(int) @ order.astype(int) > 0) <= order).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_ranks_keep_the_order_of_their_task_and_lie_within_its_bounds(seed):
    scores = random_scores(seed, models=25, tasks=2)
    errors = errors_like(scores, seed)
    known = with_errors(scores, errors, 0.3)
    ranks = joint_ranks(known, orders := partial_orders(known))
    for task, better in zip(scores, orders, strict=True):
        best, worst = rank_bounds(better)
        assert sorted(ranks[task]) == list(range(1, 26))
        assert (ranks[task] >= best).all()
        assert (ranks[task] <= worst).all()
        for one, other in np.argwhere(better):
            assert ranks[task].iloc[one] < ranks[task].iloc[other]


@pytest.mark.parametrize("seed", SEEDS)
def test_tasks_that_nothing_significant_parts_rank_alike(seed):
    """Of one ability, with errors as large as the noise: what one task fixes the other may follow."""
    generator = np.random.default_rng(seed)
    ability = np.sort(generator.uniform(0, 3, 30))
    scores = pd.DataFrame({"a": ability, "b": ability + generator.uniform(0, 1e-3, 30)})
    errors = pd.DataFrame({"a": np.full(30, 0.3), "b": np.full(30, 0.5)})
    known = with_errors(scores, errors)
    ranks = joint_ranks(known, orders := partial_orders(known))
    assert (ranks["a"] == ranks["b"]).all()
    assert opposed_models(orders).sum() == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_copy_of_a_model_shares_its_places(seed):
    scores = random_scores(seed, models=15, tasks=2)
    twins = [*range(15), seed % 15]
    both = (one.iloc[twins].reset_index(drop=True) for one in (scores, errors_like(scores, seed)))
    known = with_errors(*both)
    ranks = joint_ranks(known, partial_orders(known))
    assert (ranks.iloc[-1] == ranks.iloc[seed % 15]).all()
    for task in scores:
        assert ranks[task].nunique() == 15
        assert ranks[task].min() == 1
        assert ranks[task].max() >= 15


def test_orders_are_the_same_a_few_models_at_a_time(monkeypatch):
    scores = random_scores(1, models=25, tasks=2)
    known = with_errors(scores, errors_like(scores, 1), 0.3)
    at_once = partial_orders(known)
    monkeypatch.setattr(partial_order, "_AT_ONCE", 80)
    assert at_once.any()
    assert (partial_orders(known) == at_once).all()


def test_models_that_tasks_order_in_opposite_ways_are_counted():
    scores = pd.DataFrame({"a": [1.0, 0.5, 0.0], "b": [0.0, 0.5, 1.0]})
    small = pd.DataFrame(0.05, scores.index, scores.columns)
    assert opposed_models(partial_orders(with_errors(scores, small))).tolist() == [2, 2, 2]
    far = opposed_models(partial_orders(with_errors(scores, small * 5.5)))
    assert far.tolist() == [1, 0, 1], "only the first and the last are far enough apart"
    unknown = partial_orders(with_errors(scores, small * np.nan))
    assert opposed_models(unknown).sum() == 0, "without errors nothing is sure"


def test_a_missing_cell_is_refused_and_the_limit_is_the_published_one():
    scores = random_scores(0, models=5, tasks=2, gaps=0.5)
    with pytest.raises(ValueError, match="missing cells"):
        known = with_errors(scores, errors_like(scores, 0))
        joint_ranks(known, partial_orders(known))
    with pytest.raises(ValueError, match="3 tasks; expected two"):
        opposed_models(np.zeros((3, 5, 5), bool))
    assert SIGNIFICANT == 1.96
