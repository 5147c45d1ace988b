"""Tasks chosen for their price, beside all sets of tasks that there are."""

from itertools import chain, combinations

import numpy as np
import pandas as pd
import pytest

from workflow_scripts.stats.few_tasks import chosen
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
