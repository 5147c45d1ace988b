"""Test that `snakemake plan` counts the jobs of a run, and its costs."""

import shutil

import pandas as pd
import pytest

from tests.workflow.snakemake import ROOT, SMALL, count_jobs, run_snakemake

pytestmark = pytest.mark.workflow


def run_plan(folder, *arguments):
    result = run_snakemake(folder, "plan", *arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout + result.stderr, pd.read_csv(folder / "results/plan.csv", index_col="rule")


def test_plan_matches_run(finished, tmp_path):
    output, rows = run_plan(tmp_path, *SMALL)
    jobs = count_jobs(finished[1])
    planned_jobs = rows["jobs"].to_dict()
    total = planned_jobs.pop("all")
    assert planned_jobs["evaluate_direct"] == jobs["evaluate_direct"] == 2
    assert planned_jobs.pop("evaluate_suite") == 1  # unknown to Snakemake before the check
    assert planned_jobs.items() <= jobs.items()
    assert total == sum(planned_jobs.values()) + 1
    assert "Requests of the leaderboard count as if accepted" in output
    assert not (tmp_path / "results/records").exists()
    assert not (tmp_path / "resources").exists()


def test_costs_of_finished_jobs(finished, tmp_path):
    shutil.copytree(finished[0] / "logs", tmp_path / "logs")
    run_snakemake(tmp_path, "costs", *SMALL)
    costs = pd.read_csv(tmp_path / "results/costs.csv", index_col="rule")
    measured = costs.loc["evaluate_direct"]
    assert measured["jobs"] == count_jobs(finished[1])["evaluate_direct"]
    assert 0 < measured["peak_mb"] < measured["requested_mb"]


def test_paper_plan_gpu_hours(tmp_path):
    _, rows = run_plan(tmp_path, "--configfile", str(ROOT / "config/paper.yaml"))
    jobs, hours = rows["jobs"], rows["gpu_hours"]
    assert jobs["evaluate_direct"] == jobs["train_before_test"] == 244
    assert hours["train_before_test"] > 10 * hours["evaluate_direct"]
    assert 590 < rows["disk_gb"]["fetch"] < 700  # 296 billion parameters
    assert jobs["evaluate_suite"] == 12
    assert f"{hours['all']:.0f} GPU hours" in (ROOT / "docs/cluster.md").read_text()
