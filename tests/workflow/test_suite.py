"""The leaderboard as a user meets it: submit, a request more, a flag, another precision."""

import pandas as pd
import pytest
import yaml

from tests.workflow.snakemake import ROOT, jobs_of, run_snakemake, with_config

pytestmark = pytest.mark.workflow

REQUEST = {"name": "miniature/Pythia-0.1M", "precision": "float32", "model_type": "pretrained"}


def put(folder, file, text=None, **keys) -> list[str]:
    """A request more, in a folder of the user's own beside those of the small config."""
    own = folder / "config/requests"
    if not own.is_dir():
        own.mkdir(parents=True)
        for path in (ROOT / "tests/workflow/requests").glob("*.yaml"):
            (own / path.name).write_text(path.read_text())
    (own / file).write_text(text or yaml.safe_dump(REQUEST | keys))
    return with_config(folder, suite={"requests": "config/requests"})


def test_the_finished_run_has_a_row_and_says_why_the_others_have_none(finished):
    folder, _ = finished
    board = pd.read_csv(folder / "results/tables/suite_leaderboard.csv")
    assert board[["model", "precision"]].to_numpy().tolist() == [
        ["miniature/Pythia-0.1M", "float32"]
    ]
    assert board["arc_challenge_n"].tolist() == [4] and board["gsm8k_n"].tolist() == [2]
    requests = pd.read_csv(folder / "results/tables/suite_requests.csv").set_index("request")
    assert requests["status"].to_dict() == {
        "Pythia.yaml": "finished",
        "again.yaml": "refused",
        "unreadable.yaml": "refused",
    }
    assert "is a duplicate of Pythia.yaml" in requests.loc["again.yaml", "reason"]
    assert "cannot be read as YAML" in requests.loc["unreadable.yaml", "reason"]
    page = (folder / "results/report/leaderboard.html").read_text(encoding="utf-8")
    assert f'"gsm8k": {100 * board.loc[0, "gsm8k"]:g}' in page


def test_submit_checks_and_says_a_line_a_request_and_evaluates_nothing(copy):
    config = put(copy, "half.yaml", precision="bfloat16")
    put(copy, "typo.yaml", precision="int3")
    put(copy, "unknown.yaml", name="miniature/Nobody")
    put(copy, "hub.yaml", name="Qwen/Qwen2.5-0.5B")
    result = run_snakemake(copy, "submit", *config)
    assert jobs_of(result) == {"check_requests": 1, "submit": 1}
    lines = (copy / "results/requests/submitted.txt").read_text().splitlines()
    assert [line.split(":")[0].split() for line in lines] == [
        ["finished", "Pythia.yaml"],
        ["refused", "again.yaml"],
        ["pending", "half.yaml"],
        ["refused", "hub.yaml"],
        ["refused", "typo.yaml"],
        ["refused", "unknown.yaml"],
        ["refused", "unreadable.yaml"],
    ]
    assert not (copy / "results/records/suite/few_shot/miniature--Pythia-0.1M~bfloat16").exists()


def test_another_precision_is_another_row_and_measures_nothing_else_again(copy):
    config = put(copy, "half.yaml", precision="bfloat16")
    result = run_snakemake(copy, "suite", *config)
    assert jobs_of(result)["check_requests"] == 1
    records = copy / "results/records/suite/few_shot"
    times = {path.parent.name: path.stat().st_mtime for path in records.glob("*/gsm8k.json")}
    checked = (copy / "logs/check_requests.log").stat().st_mtime
    assert times["miniature--Pythia-0.1M~float32"] < checked, "it was measured again"
    board = pd.read_csv(copy / "results/tables/suite_leaderboard.csv")
    assert sorted(board["precision"]) == ["bfloat16", "float32"]
    assert board["commit"].nunique() == 1


def test_a_flag_marks_a_row_and_runs_no_model(copy):
    flag = {"model": REQUEST["name"], "reason": "Copied.", "link": "https://example.org/1"}
    (copy / "flags.yaml").write_text(yaml.safe_dump([flag]))
    config = with_config(copy, suite={"flags": "flags.yaml"})
    jobs = jobs_of(run_snakemake(copy, "suite", "-n", *config))
    assert jobs["suite_leaderboard"] == jobs["suite_checks"] == 1
    assert not {"check_requests", "evaluate_suite"} & set(jobs)


def test_the_published_config_fetches_no_weights_before_the_check(tmp_path):
    paper = str(ROOT / "config/paper.yaml")
    jobs = jobs_of(run_snakemake(tmp_path, "submit", "-n", "--configfile", paper))
    assert jobs == {"fetch_metadata": 7, "check_requests": 1, "submit": 1}
