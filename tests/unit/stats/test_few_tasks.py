"""Tasks chosen for their price, beside all sets of tasks that there are."""

from itertools import chain, combinations

import numpy as np
import pandas as pd
import pytest

from workflow_scripts.stats.few_tasks import at_random, cheapest, chosen
from workflow_scripts.stats.principal import principal_components


@pytest.fixture(params=range(3))
def panel(request):
    generator = np.random.default_rng([39, request.param])
    ability, tasks = generator.normal(size=(40, 2)), [f"t{at}" for at in range(7)]
    noise = generator.normal(size=(40, 7)) * generator.uniform(0.2, 1.5, 7)
    scores = pd.DataFrame(ability @ generator.normal(1, 0.5, (2, 7)) + noise, columns=tasks)
    return scores, pd.Series(generator.uniform(0.05, 0.4, 7), tasks)


def left_of(standard: pd.DataFrame, component: np.ndarray, tasks: list[str]) -> float:
    """What the tasks do not explain of the component, their correlations taken as they are."""
    part = standard[tasks].to_numpy()
    return float(((component - part @ np.linalg.lstsq(part, component)[0]) ** 2).sum())


@pytest.mark.parametrize("budget", [0.3, 0.6, 1.0])
def test_of_all_sets_that_are_paid_for_few_leave_less(panel, budget):
    scores, prices = panel
    taken = chosen(scores, prices, budget)
    assert prices[taken].sum() <= budget
    every = chain.from_iterable(combinations(scores, size) for size in range(1, 8))
    paid = [list(one) for one in every if prices[list(one)].sum() <= budget]
    standard = (scores - scores.mean()) / scores.std(ddof=0)
    component = principal_components(scores).scores["PC1"].to_numpy()
    ours = left_of(standard, component, taken)
    less = [one for one in paid if left_of(standard, component, one) < ours * (1 - 1e-9)]
    # It shrinks the correlations, which this reference does not.
    assert len(less) <= 0.1 * len(paid)


def test_nothing_is_chosen_that_nobody_can_pay_and_everything_that_everybody_can(panel):
    scores, prices = panel
    assert chosen(scores, prices, prices.min() / 2) == []
    assert sorted(chosen(scores, prices, prices.sum() + 1)) == sorted(scores)


def test_the_cheapest_are_as_many_as_there_can_be_and_random_ones_are_paid_for(panel):
    _, prices = panel
    found = cheapest(prices, 0.5)
    assert prices[found].sum() <= 0.5 < prices.sort_values().iloc[: len(found) + 1].sum()
    drawn = [at_random(prices, 0.5, np.random.default_rng(seed)) for seed in range(20)]
    assert len({tuple(sorted(one)) for one in drawn}) > 3
    for one in drawn:
        rest = prices.drop(one)
        assert prices[one].sum() <= 0.5 < prices[one].sum() + rest.min()
