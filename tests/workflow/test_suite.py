"""Test the leaderboard as a user runs it: submit, another precision, a flag."""

import pandas as pd
import pytest
import yaml

from tests.workflow.snakemake import ROOT, count_jobs, run_snakemake, write_changed_config

pytestmark = pytest.mark.workflow

REQUEST = {"name": "miniature/Pythia-0.1M", "precision": "float32", "model_type": "pretrained"}


def put(folder, file, **keys) -> list[str]:
    """Write a request into the user's folder, next to those of the small config."""
    own = folder / "config/requests"
    own.mkdir(parents=True, exist_ok=True)
    for path in (ROOT / "tests/workflow/requests").glob("*.yaml"):
        (own / path.name).write_text(path.read_text())
    (own / file).write_text(yaml.safe_dump(REQUEST | keys))
    return write_changed_config(folder, suite={"requests": "config/requests"})


def test_finished_run_leaderboard(finished):
    folder, _ = finished
    tables = folder / "results/tables"
    (row,) = pd.read_csv(tables / "suite_leaderboard.csv").to_dict("records")
    assert (row["model"], row["precision"]) == ("miniature/Pythia-0.1M", "float32")
    assert (row["arc_challenge_n"], row["gsm8k_n"]) == (4, 2)
    requests = pd.read_csv(tables / "suite_requests.csv").set_index("request")["reason"]
    assert pd.isna(requests["Pythia.yaml"])
    assert "is a duplicate of Pythia.yaml" in requests["again.yaml"]
    assert "cannot be read as YAML" in requests["unreadable.yaml"]
    page = (folder / "results/report/leaderboard.html").read_text(encoding="utf-8")
    assert f'"gsm8k": {100 * row["gsm8k"]:g}' in page


def test_submit_checks_and_evaluates_nothing(copy):
    config = put(copy, "half.yaml", precision="bfloat16")
    put(copy, "unknown.yaml", name="miniature/Nobody")
    put(copy, "hub.yaml", name="Qwen/Qwen2.5-0.5B")
    result = run_snakemake(copy, "submit", *config)
    assert count_jobs(result) == {"check_requests": 1, "submit": 1}
    lines = (copy / "results/requests/submitted.txt").read_text().splitlines()
    assert [line.split(":")[0].split() for line in lines] == [
        ["finished", "Pythia.yaml"],
        ["refused", "again.yaml"],
        ["pending", "half.yaml"],
        ["refused", "hub.yaml"],
        ["refused", "unknown.yaml"],
        ["refused", "unreadable.yaml"],
    ]


def test_new_precision_adds_row(copy):
    config = put(copy, "half.yaml", precision="bfloat16")
    record = copy / "results/records/suite/few_shot/miniature--Pythia-0.1M~float32/gsm8k.json"
    mtime = record.stat().st_mtime
    run_snakemake(copy, "suite", *config)
    assert record.stat().st_mtime == mtime
    board = pd.read_csv(copy / "results/tables/suite_leaderboard.csv")
    assert sorted(board["precision"]) == ["bfloat16", "float32"]
    assert board["commit"].nunique() == 1


def test_flag_runs_no_model(copy):
    flag = {"model": REQUEST["name"], "reason": "Copied.", "link": "https://example.org/1"}
    (copy / "flags.yaml").write_text(yaml.safe_dump([flag]))
    config = write_changed_config(copy, suite={"flags": "flags.yaml"})
    jobs = count_jobs(run_snakemake(copy, "suite", "-n", *config))
    assert jobs["suite_leaderboard"] == 1
    assert not {"check_requests", "evaluate_suite"} & set(jobs)
