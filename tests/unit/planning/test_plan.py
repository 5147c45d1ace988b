"""The sums over all jobs, and what is said not to fit."""

import pytest

from workflow_scripts.planning.estimates import Need
from workflow_scripts.planning.plan import format_plan, sum_by_rule
from workflow_scripts.settings.cluster import Cluster


def job(rule, seconds, **need):
    fields = vars(Need(seconds, **{"mem_mb": 1_000} | need))
    return {"rule": rule, "need": fields, "threads": 4}


JOBS = [
    job("fetch_model", 100, disk_mb=2_000),
    job("evaluate_direct_1", 3_600, gpus=1, mem_mb=8_000, gpu_mb=20_000),
    job("evaluate_direct_2", 7_200, gpus=1, mem_mb=9_000, gpu_mb=30_000),
    job("train_checkpoint", 36_000, gpus=4, gpu_mb=90_000),
]
TABLE = sum_by_rule(JOBS, Cluster())


def test_jobs_of_a_rule_add_up_and_its_largest_is_there():
    assert list(TABLE.index) == ["fetch_model", "evaluate_direct", "train_checkpoint", "all"]
    packs = TABLE.loc["evaluate_direct"]
    assert (packs["jobs"], packs["gpus"]) == (2, 1)
    assert packs["gpu_hours"] == pytest.approx(3)
    assert packs["cpu_hours"] == pytest.approx(12)
    assert packs["reserved_gpu_hours"] == pytest.approx(2 * 3 + 2 / 6)
    assert (packs["mem_gb"], packs["gpu_gb"], packs["longest_hours"]) == (9, 30, 2)
    assert TABLE.loc["all", "gpu_hours"] == pytest.approx(43)
    assert TABLE.loc["all", "disk_gb"] == 2


def test_what_does_not_fit_is_named():
    text = format_plan(TABLE, Cluster(longest_hours=8), 80, unchecked=True)
    assert "longer than cluster.longest_hours (8): train_checkpoint." in text
    assert "more than the 80 GB of A100-80GB: train_checkpoint." in text
    assert "as if accepted" in text
    fitting = format_plan(TABLE, Cluster(), 100, unchecked=False)
    assert "Expected" not in fitting and "accepted" not in fitting


def test_nothing_left_to_run_costs_nothing():
    assert sum_by_rule([], Cluster()).loc["all", "jobs"] == 0
