"""`snakemake plan`: what it says is what Snakemake would do, and does."""

import csv
import json
import re

import pytest

from tests.workflow.snakemake import ROOT, SMALL, jobs_of, run_snakemake

pytestmark = pytest.mark.workflow


def plan_of(folder, *arguments):
    result = run_snakemake(folder, "plan", *arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    with (folder / "results/plan.csv").open(newline="") as file:
        return result.stdout + result.stderr, list(csv.DictReader(file))


def test_the_plan_has_every_job_of_a_dry_run_and_runs_none(tmp_path):
    said, rows = plan_of(tmp_path, *SMALL)
    jobs = jobs_of(run_snakemake(tmp_path, "-n", *SMALL))
    planned = {row["rule"]: int(row["jobs"]) for row in rows if row["rule"] != "tables, figures"}
    assert planned["evaluate_direct"] == jobs["evaluate_direct"] == 4
    assert planned.pop("evaluate_suite") == 2  # a dry run does not know of it before the check
    assert planned.items() <= jobs.items()
    # But for `all`, which is no work.
    assert sum(int(row["jobs"]) for row in rows) == sum(jobs.values()) - 1 + 2
    assert "evaluate_direct" in said
    assert "1 request of the leaderboard is counted as if accepted" in said
    assert not (tmp_path / "results/records").exists()
    assert not (tmp_path / "resources").exists()


def test_the_plan_of_the_paper_is_what_one_asks_gpu_hours_with(tmp_path):
    _, rows = plan_of(tmp_path, "--configfile", str(ROOT / "config/paper.yaml"))
    text = (tmp_path / "results/plan.txt").read_text()
    assert max(map(len, text.splitlines())) <= 100
    by_rule = {row["rule"]: row for row in rows}
    assert by_rule["evaluate_direct"]["jobs"] == by_rule["train_before_test"]["jobs"] == "244"
    trained = float(by_rule["train_before_test"]["gpu_hours"])
    assert trained > 10 * float(by_rule["evaluate_direct"]["gpu_hours"])
    assert 590 < float(by_rule["fetch_model"]["download_gb"]) < 700  # 296 billion parameters
    assert "GPU hours on A100-80GB" in text
    assert (by_rule["evaluate_suite"]["jobs"], by_rule["train_suite"]["jobs"]) == ("12", "1")
    assert float(by_rule["fetch_model_at"]["download_gb"]) > 2 * 12  # two models of six billions
    assert "13 requests of the leaderboard are counted as if accepted" in text
    planned = json.loads((tmp_path / "results/plan.json").read_text())
    gpu_hours = sum(float(row["gpu_hours"]) for row in rows)
    training = sum(float(row["gpu_hours"]) for row in rows if row["rule"].startswith("train_"))
    readme = " ".join((ROOT / "README.md").read_text().split())
    promised = f"some {round(gpu_hours, -1):.0f} GPU hours, {100 * training / gpu_hours:.0f} of 100 for training"
    assert promised in readme
    in_docs = f"is {gpu_hours:.0f} GPU hours on A100s of 80 GB"
    assert in_docs in " ".join((ROOT / "docs/planning.md").read_text().split())
    sizes = re.search(r"download (\d+) GB, disk (\d+) GB", text)
    assert sizes
    fetched, stored = (round(int(size), -1) for size in sizes.groups())
    assert f"{fetched} GB of downloads and {stored} GB in all" in readme
    fit = re.search(r"40 GB [\d,]+ \(100 %", text) is not None
    assert fit == ("all jobs fit 40 GB cards" in readme)
    of_models = sum(planned["gpu_hours_by_model"].values())
    assert of_models == pytest.approx(gpu_hours, rel=1e-4)
    assert planned["longest_chain"]["hours"] > max(float(row["longest_hours"]) for row in rows)
