"""What a run says at its end."""

import shutil
from pathlib import Path

import pytest

from workflow_scripts.bridge.run_summary import describe_failure, describe_success
from workflow_scripts.core.failed_cells import get_note_path
from workflow_scripts.core.files import write_json

GOLDEN = Path(__file__).parents[2] / "golden"
LOG = """
Error in rule evaluate_direct_1:
    message: None
    jobid: 3
    output: results/a.json
    log: logs/evaluate/a.log (check log file(s) for error details)
Error in rule table, jobid: 4:
    jobid: 4
    log: logs/table_b.log (check log file(s) for error details)
"""


def break_cell() -> Path:
    record = Path("results/records/harmony/direct/m/sst2.json")
    fields = {"record": str(record), "reason": "it melted", "log": "logs/m.log"}
    record.parent.mkdir(parents=True)
    write_json(record, {"broken": fields})
    get_note_path(record).parent.mkdir(parents=True)
    write_json(get_note_path(record), fields)
    return record


def test_describe_failure_logs(here):
    Path("run.log").write_text(LOG)
    text = describe_failure(["run.log"])
    assert "  evaluate_direct_1: logs/evaluate/a.log\n  table: logs/table_b.log" in text


def test_describe_success_failed_cells(here):
    record = break_cell()
    assert f"  {record}: it melted (logs/m.log)" in describe_success(since=0)
    assert not record.exists() and "it melted" not in describe_success(since=0)


def test_describe_success_results_or_plan(here):
    Path("results/tables").mkdir(parents=True)
    assert "results/tables: " in describe_success(since=0)
    Path("results/plan.txt").write_text("a million hours\n")
    assert describe_success(since=0) == "\na million hours\n"


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        (
            ["published/published_agreement.csv"],
            ["of 0.517 (95% CI over model families 0.322 to 0.713)"],
        ),
        (
            [f"intel-6-167/harmony_{name}.csv" for name in ("leaderboard", "scores")],
            ["Pythia-1M, RTE: zero-shot 0.875 ± 0.043, fine-tuned 0.891 ± 0.041, baseline 0.547"],
        ),
        (
            ["intel-6-167/harmony_leaderboard.csv"],
            ["Pythia-1M, rte: zero-shot 0.875 ± 0.043, fine-tuned 0.891 ± 0.041\n"],
        ),
    ],
)
def test_describe_success_new_tables(here, tables, expected):
    Path("results/tables").mkdir(parents=True)
    for table in tables:
        shutil.copy(GOLDEN / table, "results/tables")
    text = describe_success(since=0)
    assert all(words in text for words in [*expected, "results/tables: "])
