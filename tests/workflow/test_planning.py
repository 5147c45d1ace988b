"""Test that `snakemake plan` counts the jobs of a dry run, and its costs."""

import csv

import pytest

from tests.workflow.snakemake import ROOT, SMALL, count_jobs, run_snakemake

pytestmark = pytest.mark.workflow


def run_plan(folder, *arguments):
    result = run_snakemake(folder, "plan", *arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    with (folder / "results/plan.csv").open(newline="") as file:
        return result.stdout + result.stderr, list(csv.DictReader(file))


def test_plan_matches_dry_run(tmp_path):
    output, rows = run_plan(tmp_path, *SMALL)
    jobs = count_jobs(run_snakemake(tmp_path, "-n", *SMALL))
    planned_jobs = {row["rule"]: int(row["jobs"]) for row in rows}
    total = planned_jobs.pop("all")
    assert planned_jobs["evaluate_direct"] == jobs["evaluate_direct"] == 4
    assert planned_jobs.pop("evaluate_suite") == 2  # unknown to a dry run before the check
    assert planned_jobs.items() <= jobs.items()
    assert total == sum(planned_jobs.values()) + 2
    assert "Requests of the leaderboard count as if accepted" in output
    assert not (tmp_path / "results/records").exists()
    assert not (tmp_path / "resources").exists()


def test_paper_plan_gpu_hours(tmp_path):
    _, rows = run_plan(tmp_path, "--configfile", str(ROOT / "config/paper.yaml"))
    by_rule = {row["rule"]: row for row in rows}
    assert by_rule["evaluate_direct"]["jobs"] == by_rule["train_before_test"]["jobs"] == "244"
    hours = {rule: float(row["gpu_hours"]) for rule, row in by_rule.items()}
    assert hours["train_before_test"] > 10 * hours["evaluate_direct"]
    assert 590 < float(by_rule["fetch_model"]["disk_gb"]) < 700  # 296 billion parameters
    assert (by_rule["evaluate_suite"]["jobs"], by_rule["train_suite"]["jobs"]) == ("12", "1")
    assert f"{hours['all']:.0f} GPU hours" in (ROOT / "docs/cluster.md").read_text()
