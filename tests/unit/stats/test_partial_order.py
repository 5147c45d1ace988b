"""Ranks that significant differences alone fix: against a plain walk over all orders, on random scores."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from tests.unit.stats.random_scores import SEEDS, format_with_errors, random_scores
from workflow_scripts.stats.partial_order import (
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
    best, worst = rank_bounds(partial_orders(format_with_errors(scores, errors.to_frame()))[0])
    ends = zip(best, worst, strict=True)
    assert {name: (min(seen), max(seen)) for name, seen in found.items()} == dict(
        zip(values.index, ends, strict=True)
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_what_lies_above_what_lies_above_a_third_lies_above_it_too(seed):
    scores = random_scores(seed, models=40, tasks=1)
    known = format_with_errors(scores, errors_like(scores, seed), 0.1 * (seed % 10), 0.05)
    (order,) = partial_orders(known)
    assert not (order & order.T).any()
    assert ((order.astype(int) @ order.astype(int) > 0) <= order).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_ranks_keep_the_order_of_their_task_and_lie_within_its_bounds(seed):
    scores = random_scores(seed, models=25, tasks=2)
    errors = errors_like(scores, seed)
    known = format_with_errors(scores, errors, 0.3)
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
    known = format_with_errors(scores, errors)
    ranks = joint_ranks(known, orders := partial_orders(known))
    assert (ranks["a"] == ranks["b"]).all()
    assert opposed_models(orders).sum() == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_copy_of_a_model_shares_its_places(seed):
    scores = random_scores(seed, models=15, tasks=2)
    twins = [*range(15), seed % 15]
    both = (one.iloc[twins].reset_index(drop=True) for one in (scores, errors_like(scores, seed)))
    known = format_with_errors(*both)
    ranks = joint_ranks(known, partial_orders(known))
    assert (ranks.iloc[-1] == ranks.iloc[seed % 15]).all()
    for task in scores:
        assert ranks[task].nunique() == 15
        assert ranks[task].min() == 1
        assert ranks[task].max() >= 15
