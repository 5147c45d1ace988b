"""Test the messages at the end of a run."""

import os
from pathlib import Path

from workflow_scripts.bridge.run_summary import describe_failure, describe_success
from workflow_scripts.core.failed_cells import get_note_path
from workflow_scripts.core.files import write_json, write_text

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


def test_describe_success_answers_and_places(here):
    write_text(Path("results/tables/a.md"), "")
    assert describe_success(since=0) == "\nresults/tables"
    Path("results/plan.txt").write_text("a million hours\n")
    os.utime("results/tables", (1, 1))
    assert describe_success(since=2) == "\na million hours\n"
