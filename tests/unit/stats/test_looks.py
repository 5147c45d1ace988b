"""Looking after each task: what all looks together say, and how often they are wrong."""

import numpy as np
import pandas as pd
import pytest

from workflow_scripts.stats.few_tasks import in_turn
from workflow_scripts.stats.looks import first_apart, places, quantile
from workflow_scripts.stats.placement import place

TASKS = [f"t{at}" for at in range(6)]


def drawn(seed: int, models: int = 60) -> tuple[pd.DataFrame, pd.Series]:
    generator = np.random.default_rng([39, seed])
    names = [f"m{at}" for at in range(models)]
    ability = generator.normal(size=(models, 1))
    scores = ability + generator.normal(size=(models, len(TASKS))) * generator.uniform(
        0.3, 1, len(TASKS)
    )
    return pd.DataFrame(scores, names, TASKS), pd.Series(
        [f"f{at // 5}" for at in range(models)], names
    )


@pytest.fixture(params=range(3))
def known(request):
    """A panel, its families, new models and the standard errors of their scores, which nobody knows."""
    scores, families = drawn(request.param)
    panel, new = scores[:-5], scores[-5:]
    return panel, families[:-5], new, pd.DataFrame(np.nan, new.index, new.columns)


def test_a_look_is_the_place_on_its_tasks_and_the_interval_what_all_so_far_leave(known):
    panel, families, new, errors = known
    table = places(panel, families, new, errors, TASKS[:4], 6).set_index(["model", "look"])
    for model in new.index:
        low, high = -np.inf, np.inf
        for look in range(1, 5):
            found = place(panel, new.loc[model, TASKS[:look]], families)
            wider = quantile(6) / quantile(1)
            low = max(low, found.pc1 - wider * (found.pc1 - found.low))
            high = min(high, found.pc1 + wider * (found.high - found.pc1))
            row = table.loc[(model, look)]
            assert row[["pc1", "low", "high"]].tolist() == pytest.approx([found.pc1, low, high])


def test_a_model_that_lacks_a_score_is_looked_at_by_those_it_has(known):
    panel, families, new, errors = known
    new = new.copy()
    new.loc["m55", TASKS[0]] = np.nan
    table = places(panel, families, new, errors, TASKS[:2], 2).set_index(["model", "look"])
    assert ("m55", 1) not in table.index
    alone = place(panel, new.loc["m55", [TASKS[1]]], families)
    assert table.loc[("m55", 2), "pc1"] == pytest.approx(alone.pc1)


def test_all_looks_share_a_risk_that_single_looks_exceed():
    """Scores of one task more at each look, all of them noise around the same place."""
    generator = np.random.default_rng(39)
    looks, runs = 12, 4000
    off = generator.normal(size=(runs, looks))
    wrong = {one: (np.abs(off) > quantile(one)).any(axis=1).mean() for one in (1, looks)}
    assert wrong[looks] < 0.05 < 0.3 < wrong[1]


def test_two_models_are_apart_from_the_first_look_that_says_so_and_the_better_one_is_named_first():
    looks = {
        "a": [(0.0, 10.0), (100.0, 10.0), (-100.0, 10.0)],
        "b": [(5.0, 10.0), (0.0, 10.0), (0.0, 10.0)],
        "c": [(0.0, 10.0), (2.0, 10.0), (3.0, 10.0)],
    }
    rows = [
        {"look": at + 1, "model": name, "pc1": pc1, "spread": spread}
        for name, of in looks.items()
        for at, (pc1, spread) in enumerate(of)
    ]
    table = pd.DataFrame(rows)
    assert first_apart(table, ["a", "b"], 3) == {("a", "b"): 2}
    assert first_apart(table, ["b", "a", "c"], 3) == {("a", "b"): 2, ("a", "c"): 2}
    # 100 are 7 standard deviations of the difference; what 50 more would leave of them is not clear.
    assert first_apart(table.assign(spread=table["spread"] * 4), ["a", "b"], 3) == {}
    assert first_apart(table, ["a", "unmeasured"], 3) == {}


def test_the_next_task_is_the_one_that_tells_most_more_for_its_price():
    scores, _ = drawn(0)
    scores["copy"] = scores["t0"]
    prices = pd.Series(1.0, scores.columns)
    turn = in_turn(scores, prices, scores.columns)
    assert sorted(turn) == sorted(scores.columns)
    assert abs(turn.index("copy") - turn.index("t0")) > 1, "what is known already tells little more"
    dear = prices.copy()
    dear[turn[0]] = 1000.0
    assert in_turn(scores, dear, scores.columns)[-1] == turn[0]
