"""Test the messages at the end of a run."""

from pathlib import Path

import pytest

from workflow_scripts.bridge.run_summary import describe_failure, describe_success
from workflow_scripts.core.failed_cells import write_failed_record
from workflow_scripts.core.files import write_text

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
    write_failed_record(record, "it melted", Path("logs/m.log"))
    return record


def test_describe_failure_logs(here):
    Path("run.log").write_text(LOG)
    text = describe_failure(["run.log"])
    assert "  evaluate_direct_1: logs/evaluate/a.log\n  table: logs/table_b.log" in text


def test_describe_success_failed_cells(here):
    record = break_cell()
    assert f"  {record}: it melted (logs/m.log)" in describe_success(since=0)
    assert not record.exists() and "it melted" not in describe_success(since=0)


def test_describe_success_plan_and_places(here):
    write_text(Path("results/tables/a.md"), "")
    Path("results/plan.txt").write_text("a million hours\n")
    assert describe_success(since=0).startswith("\na million hours\n\nresults/tables: ")


SCORES = """model,task,value,stderr,trained_value,trained_stderr,steps,changed,baseline
org/own,CoLA,0.0,0.1,0.0,0.1,25,0.6,0.001
org/own,RTE,,,,,,,
"""
PANEL = """protocol,model,variant,tasks,panel_tasks,rank,best_rank,worst_rank
direct,org/own,@k2m6,2,24,59,47,62
"""
FINDING = (GOLDEN / "published/published_agreement.csv").read_text()


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        (
            {"published_agreement": FINDING},
            "of 0.517 (95% CI over model families 0.322 to 0.713)",
        ),
        (
            {"harmony_scores": SCORES},
            "org/own, CoLA: zero-shot 0.000 ± 0.100, fine-tuned 0.000 ± 0.100 (25 steps, 60% of answers changed),"
            " baseline 0.001\norg/own, RTE: not measured\nFewer than 50 steps of training change little",
        ),
        (
            {"harmony_scores": SCORES.replace("25", "50"), "harmony_panel": PANEL},
            "RTE: not measured\norg/own@k2m6: predicted rank 59 (95% interval 47 to 62) among the panel's models",
        ),
    ],
    ids=["published", "few steps", "place"],
)
def test_describe_success_new_tables(here, tables, expected):
    for name, text in tables.items():
        write_text(Path(f"results/tables/{name}.csv"), text)
    text = describe_success(since=0)
    assert expected in text and "results/tables: " in text
