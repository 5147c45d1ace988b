"""`snakemake plan` and `status`: what they say is what Snakemake would do, and does."""

import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workflow.snakemake import (
    ROOT,
    SMALL,
    jobs_of,
    run_for,
    run_snakemake,
    start_snakemake,
)

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
    shared = planned["gpu_hours_by_together"]["auto"]
    in_docs = f"is {gpu_hours:.0f} GPU hours on A100s of 80 GB, and {shared:.0f} with shared steps"
    assert in_docs in (ROOT / "docs/planning.md").read_text()
    sizes = re.search(r"download (\d+) GB, disk (\d+) GB", text)
    assert sizes
    fetched, stored = (round(int(size), -1) for size in sizes.groups())
    assert f"{fetched} GB of downloads and {stored} GB in all" in readme
    fit = re.search(r"40 GB [\d,]+ \(100 %", text) is not None
    assert fit == ("all jobs fit 40 GB cards" in readme)
    of_models = sum(planned["gpu_hours_by_model"].values())
    assert of_models == pytest.approx(gpu_hours, rel=1e-4)
    assert planned["longest_chain"]["hours"] > max(float(row["longest_hours"]) for row in rows)


def test_what_is_done_counts_as_done_and_as_long_as_it_took(copy):
    said, rows = plan_of(copy, *SMALL)
    assert all(row["done"] == row["jobs"] for row in rows)
    assert "as if accepted" not in said
    assert re.search(r"Priced by the \d+ jobs that are done here \(on\s+cpu\)", said)
    entries = map(json.loads, map(Path.read_text, copy.glob(".snakemake/chorus/jobs/*.json")))
    trained = [e for e in entries if e["rule"].startswith("train_before_test")]
    took = sum(entry["ended"] - entry["started"] for entry in trained)
    planned = next(row for row in rows if row["rule"] == "train_before_test")
    assert float(planned["cpu_hours"]) * 3_600 == pytest.approx(took, abs=1)


STATUS = [sys.executable, "-m", "workflow_scripts.planning.status", "--directory"]


def status_of(folder):
    result = run_for(folder, *STATUS, folder, cwd=ROOT)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.slow
def test_the_status_of_a_run_while_it_goes_on_and_after_a_job_failed(copy):
    record = copy / "results/records/harmony/direct/miniature--Llama-1.4M/mnli.json"
    shutil.rmtree(record.parent / ".finished")
    record.unlink()
    altered = record.with_name("arc_easy.json")
    fields = json.loads(altered.read_text())
    fields["metrics"][0]["n"] += 1
    altered.write_text(json.dumps(fields))
    run = start_snakemake(copy, "harmony", *SMALL)
    said = ""
    log = "logs/evaluate_direct/miniature--Llama-1.4M/tasks_1.log"
    try:
        while f"{log} for" not in said:
            assert run.poll() is None, said
            said = status_of(copy)
    finally:
        run.wait()
    assert "going on" in said
    harmony = next(line.split() for line in said.splitlines() if line.startswith("harmony"))
    jobs, done, running = map(int, harmony[1:4])
    assert running == 1
    assert 0 < done < jobs
    said = status_of(copy)
    assert "not running now" in said
    assert re.search(r"Times are estimated by the \d+ jobs that are done", said)
    # Who reads the first line alone is shown no traceback for it.
    head = f"{' '.join(STATUS)} {copy} | head -n 0"
    cut = run_for(copy, "bash", "-o", "pipefail", "-c", head, cwd=ROOT)
    assert (cut.returncode, cut.stderr) == (0, "")
    assert "Failed; the last lines of their logs:" in said
    assert "logs/collect_scores/harmony.log" in said
    n = fields["metrics"][0]["n"]
    assert f"has n = {n}, but there are {n - 1} items" in said


def test_the_status_before_any_run_is_a_sentence(tmp_path):
    result = run_for(tmp_path, *STATUS, tmp_path, cwd=ROOT)
    assert result.returncode == 1
    assert "No run has been started in this folder" in result.stderr
    assert "Traceback" not in result.stderr


def test_make_status_installs_nothing(tmp_path):
    result = subprocess.run(
        ["make", "status", f"VENV={tmp_path / 'none'}"], cwd=ROOT, capture_output=True, text=True
    )
    assert result.returncode
    assert "Nothing is installed" in result.stderr
    assert "python -m workflow_scripts.planning.status --directory ." in result.stderr
    assert not (tmp_path / "none").exists()


def test_a_dry_run_leaves_the_notes_of_broken_cells_to_the_run_that_tries_them_again(tmp_path):
    note = tmp_path / "results/broken/direct--a--mnli.json"
    note.parent.mkdir(parents=True)
    note.write_text(json.dumps({"record": "none.json", "reason": "no", "log": "none.log"}))
    assert run_snakemake(tmp_path, "-n", *SMALL).returncode == 0
    assert note.exists()
