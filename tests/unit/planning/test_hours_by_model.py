"""Whoever has too few hours sees which models take them."""

import pytest

from tests.unit.planning.test_plan import job
from workflow_scripts.planning.plan import hours_by_model, lines_by_model


def of_model(name, hours, gpus=1):
    return job("evaluate_direct", hours * 3_600, gpus=gpus, model=name)


def test_the_hours_of_a_model_are_those_of_all_its_jobs_and_gpus_the_most_first():
    jobs = [of_model("a/A", 2), of_model("b/B", 2, gpus=4), of_model("a/A", 1), job("all", 9)]
    assert hours_by_model(jobs) == pytest.approx({"b/B": 8, "a/A": 3})
    assert list(hours_by_model(jobs)) == ["b/B", "a/A"]


def test_fifteen_are_named_and_the_others_are_added_up():
    jobs = [of_model(f"a/{number}", 100 - number) for number in range(20)]
    said = lines_by_model(jobs)
    assert "a/14" in "".join(said) and "a/15" not in "".join(said)
    assert "5 others" in said[-1] and said[-1].endswith(str(85 + 84 + 83 + 82 + 81))
    assert max(map(len, said)) <= 100


def test_one_model_needs_no_list():
    assert lines_by_model([of_model("a/A", 2)]) == []
