"""Test the cost summary of a run, and the list of jobs that exceed the cluster's limits."""

from dataclasses import asdict

import pytest

from workflow_scripts.planning.estimates import JobEstimate
from workflow_scripts.planning.plan import format_plan, sum_by_rule
from workflow_scripts.settings.cluster import Cluster


def make_job(rule, seconds, mem_mb=1_000, **sizes):
    estimate = JobEstimate(seconds, mem_mb, **sizes)
    limits = {"threads": 4, "minutes": estimate.get_time_limit_minutes(1, Cluster())}
    return {"rule": rule, **limits, **asdict(estimate)}


CLUSTER = {"max_job_hours": 8, "gpu": "A100-80GB"}
JOBS = [
    make_job("fetch", 100, disk_mb=2_000),
    make_job("evaluate_direct", 3_600, gpus=1, mem_mb=8_000, gpu_mb=20_000),
    make_job("evaluate_direct", 7_200, gpus=1, mem_mb=9_000, gpu_mb=30_000),
    make_job("train_checkpoint", 36_000, gpus=4, gpu_mb=90_000),
]


def test_plan():
    """Jobs of a rule are summed, and jobs that exceed a limit are named."""
    table = sum_by_rule(JOBS)
    assert list(table.index) == ["fetch", "evaluate_direct", "train_checkpoint", "all"]
    batches = table.loc["evaluate_direct"]
    assert (batches["jobs"], batches["gpu_hours"], batches["cpu_hours"]) == (2, 3, 12)
    assert batches["reserved_gpu_hours"] == pytest.approx(2 * 3 + 2 / 6)
    assert (batches["mem_gb"], batches["gpu_gb"], batches["max_job_hours"]) == (9, 30, 2)
    assert table.loc["all", ["gpu_hours", "disk_gb"]].tolist() == [43, 2]
    text = format_plan(table, CLUSTER, 80, unchecked=True)
    assert "longer than cluster.max_job_hours (8): train_checkpoint." in text
    assert "more than the 80 GB of A100-80GB: train_checkpoint." in text
