"""The averages of a group, where members differ in size and in what a fixed answer scores."""

import math

import pytest

from workflow_scripts.evaluation.baselines import Floor, average
from workflow_scripts.evaluation.lm_eval_results import MetricWithBaseline, add_group_averages


def test_one_fixed_answer_serves_all_members_or_none():
    small = Floor({"A": 1.0, "B": 0.0, "only here": 1.0}, chance=0.5)
    large = Floor({"A": 0.2, "B": 0.6}, chance=0.25)
    floor = average([small, large], [0.25, 0.75])
    assert floor.constants == pytest.approx({"A": 0.25 + 0.15, "B": 0.45})
    assert floor.best_constant == pytest.approx(0.45)
    assert floor.chance == pytest.approx(0.125 + 0.1875)
    assert average([small, Floor({"A": 0.0}, chance=None)], [0.5, 0.5]).chance is None


def test_micro_counts_items_and_macro_counts_members():
    law = MetricWithBaseline("law", "acc", 0.5, 0.1, 30)
    art = MetricWithBaseline("art", "acc", 0.9, 0.2, 10)
    *members, micro, macro = add_group_averages([law, art])
    assert [(m.subset, m.n) for m in members] == [("law", 30), ("art", 10)]
    assert (micro.name, micro.n, macro.name, macro.n) == ("acc", 40, "acc_macro", 40)
    assert micro.value == pytest.approx((30 * 0.5 + 10 * 0.9) / 40)
    assert macro.value == pytest.approx(0.7)
    assert micro.stderr == pytest.approx(math.hypot(0.75 * 0.1, 0.25 * 0.2))
    assert macro.stderr == pytest.approx(math.hypot(0.05, 0.1))
