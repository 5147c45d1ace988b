"""The leaderboard's tables and its tab: nothing filled, nothing mixed up, everything bounded."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.unit.studies.suite.suite_study import (
    COMMIT,
    PUBLISHED,
    TASKS,
    asked,
    break_off,
    entry,
    measure,
)
from workflow_scripts.core.files import write_json
from workflow_scripts.scores.columns import COLUMNS
from workflow_scripts.scores.influences import item_errors
from workflow_scripts.scores.tidy import collect, whole_records
from workflow_scripts.studies.suite import board as board_suite
from workflow_scripts.studies.suite import checks as found_checks
from workflow_scripts.studies.suite.board import suite_tab
from workflow_scripts.studies.suite.chapter import SUITE
from workflow_scripts.studies.suite.checks import suite_checks
from workflow_scripts.studies.suite.imported import imported_entries
from workflow_scripts.studies.suite.leaderboard import TABLE, suite_leaderboard
from workflow_scripts.studies.suite.table_requests import SuiteBoard

pytestmark = pytest.mark.usefixtures("here")

GOOD, POOR = [True] * 8 + [False] * 2, [True] * 2 + [False] * 8
OTHER = "1" * 40


def leaderboard(*entries, flags=()):
    paths = [Path(path) for one in entries for path in one["records"].values()]
    records = whole_records([path for path in paths if path.is_file()])
    scores = collect(record for _, record in records)
    return suite_leaderboard(scores, list(entries), asked(*flags), item_errors(records))


def tab(*entries, flags=(), shown_items=2):
    table = written(leaderboard(*entries, flags=flags))
    found = written(suite_checks(table, list(entries), asked()), found_checks.TABLE)
    return suite_tab(
        table,
        found,
        list(entries),
        SuiteBoard(tasks=TASKS, baselines=(PUBLISHED,), shown_items=shown_items),
    )


def written(table, of=TABLE):
    """As the next rule reads it."""
    of.write(table, asked(), **{kind: Path(f"{of.name}.{kind}") for kind in ("csv", "md", "tex")})
    return of.read(Path(f"{of.name}.csv"))


def both(one, right):
    for task in ("sst2", "truth"):
        measure(one, task, right)
    return one


def test_the_average_is_of_all_tasks_with_its_error_and_the_best_come_first():
    table = leaderboard(both(entry("org/poor"), POOR), both(entry("org/good"), GOOD))
    assert list(table["model"]) == ["org/good", "org/poor"]
    assert list(table["average"]) == pytest.approx([0.8, 0.2])
    assert table["average_stderr"].tolist() == pytest.approx([0.1 / 2**0.5] * 2)


def test_a_row_stands_behind_the_first_by_its_difference_on_the_same_items():
    """The poor one is right on two items that the good one has too: six items part them, on either task."""
    table = leaderboard(both(entry("org/poor"), POOR), both(entry("org/good"), GOOD))
    assert table["behind"].tolist() == pytest.approx([0, 0.6])
    apart = np.array(GOOD, dtype=float) - np.array(POOR, dtype=float)
    assert np.isnan(table["behind_stderr"].iloc[0])
    assert table["behind_stderr"].iloc[1] == pytest.approx(apart.std(ddof=1) / 10**0.5 / 2**0.5)
    written(table)
    assert " 60.0 ± 11.5 |" in Path("suite_leaderboard.md").read_text()


def test_results_of_others_are_rows_beside_ours_where_they_were_asked_with_these_shots():
    """Theirs have no answers: how far the second lies behind the first is said, and its error is not."""
    own = both(entry("org/good"), GOOD)
    about = {"harness": "lm_eval", "harness_version": "0.4.2", "model": "org/theirs"}
    about |= {"study": "theirs", "file": "r.json", "commit": None, "dtype": None}
    found = [
        about | {"task": task, "protocol": "few_shot", "shots": shots, "scores": []}
        for task, shots in (("sst2", 5), ("truth", 0), ("other", 5))
    ]
    write_json(Path("theirs/cells.json"), found)
    theirs = [
        {"study": "theirs", "model": "org/theirs", "variant": "", "metric": "acc", "value": 0.5}
        | {key: one[key] for key in ("task", "protocol", "shots")}
        for one in found
    ]
    records = whole_records([Path(path) for path in own["records"].values()])
    scores = pd.concat(
        [
            collect(record for _, record in records),
            pd.DataFrame(theirs, columns=list(COLUMNS)).astype(COLUMNS),
        ]
    )
    entries = [own, *imported_entries([Path("theirs")], TASKS)]
    table = written(suite_leaderboard(scores, entries, asked(), item_errors(records)))
    assert table["origin"].tolist() == ["own", "theirs"]
    assert table["average"].tolist() == pytest.approx([0.8, 0.5])
    assert table["behind"].tolist() == pytest.approx([0, 0.3])
    assert table["behind_stderr"].isna().all()
    assert table["note"].iloc[1] == ("Imported, measured by lm_eval 0.4.2.")
    found = written(suite_checks(table, entries, asked()), found_checks.TABLE)
    shown = SuiteBoard(tasks=TASKS, baselines=(), shown_items=2)
    rows = suite_tab(table, found, entries, shown).rows
    assert rows[1].values["origin"] == "theirs" and "lm_eval 0.4.2" in rows[1].notes[0]
    fewer = [one.model_copy(update={"shots": 3}) for one in TASKS]
    assert not imported_entries([Path("theirs")], fewer)


def test_a_missing_cell_is_named_and_its_row_has_no_average():
    whole, partial = both(entry("org/whole"), POOR), entry("org/partial")
    measure(partial, "sst2", GOOD)
    table = leaderboard(partial, whole)
    assert list(table["model"]) == ["org/whole", "org/partial"]
    last = table.iloc[1]
    assert last["missing"] == "truth"
    assert pd.isna(last["average"]) and pd.isna(last["truth"]) and last["sst2"] == 0.8


def test_precisions_and_commits_of_a_model_are_rows_with_scores_of_their_own():
    rows = [
        both(entry("org/net"), GOOD),
        both(entry("org/net", "bfloat16"), POOR),
        both(entry("org/net", commit=OTHER), [True] * 10),
    ]
    table = leaderboard(*rows)
    found = {(row.precision, row.commit): row.average for row in table.itertuples()}
    assert found == {
        ("float32", COMMIT): pytest.approx(0.8),
        ("bfloat16", COMMIT): pytest.approx(0.2),
        ("float32", OTHER): pytest.approx(1.0),
    }


def test_a_refused_request_has_no_row():
    table = leaderboard(both(entry("org/net"), GOOD), entry("org/bad", reason="its licence."))
    assert list(table["model"]) == ["org/net"]


def test_a_flag_marks_its_rows_and_no_others_and_removes_none():
    flag = {"model": "org/net", "precision": "bfloat16", "revision": COMMIT[:7]}
    flag |= {"reason": "Copied.", "link": "https://example.org/1"}
    table = leaderboard(
        both(entry("org/net"), GOOD),
        both(entry("org/net", "bfloat16"), GOOD),
        both(entry("org/net", "bfloat16", commit=OTHER), GOOD),
        flags=[flag],
    )
    flagged = table[table["flag"].notna()]
    assert [(row.precision, row.commit) for row in flagged.itertuples()] == [("bfloat16", COMMIT)]
    assert len(table) == 3


def test_the_table_is_written_with_the_floor_and_what_readers_know_the_metrics_as():
    written(leaderboard(both(entry("org/net"), GOOD)))
    text = Path("suite_leaderboard.md").read_text()
    assert "SST-2 (acc, 5-shot)" in text and "Truth (mc2, 0-shot)" in text
    assert "80.0 ± 10.0" in text and "25.0" in text
    assert pd.read_csv("suite_leaderboard.csv").loc[0, "sst2"] == 0.8


def checks_of(*entries):
    found = suite_checks(leaderboard(*entries), list(entries), asked())
    return {(row.model, row.check): row.tasks for row in found.itertuples()}


def test_what_is_at_the_floor_above_95_missing_or_on_fewer_items_is_found():
    good = both(entry("org/good"), GOOD)
    poor = both(entry("org/poor"), POOR)
    partial = entry("org/partial")
    measure(partial, "sst2", [True] * 5)
    assert checks_of(good, poor, partial) == {
        ("org/poor", "at the floor"): "sst2 truth",
        ("org/partial", "above 95%"): "sst2",
        ("org/partial", "missing"): "truth",
        ("org/partial", "fewer items"): "sst2",
    }


def test_a_score_above_the_floor_by_less_than_two_errors_is_at_it():
    one = entry()
    measure(one, "sst2", GOOD, stderr=0.3)
    measure(one, "truth", GOOD, stderr=0.2)
    assert checks_of(one) == {("org/net", "at the floor"): "sst2"}


def lost(*flags, source="huggingface"):
    whole = {"precision": None, "revision": None, "reason": "Copied.", "link": "https://a.org"}
    rows = both(entry("org/net"), GOOD), entry("org/bad", reason="its licence.")
    flags = [whole | flag for flag in flags]
    return suite_checks(leaderboard(*rows), list(rows), asked(*flags, source=source)), rows


def test_a_flag_that_marks_no_row_is_named_with_what_may_have_been_meant():
    found, rows = lost(
        {"model": "org/net"},
        {"model": "org/nett"},
        {"model": "org/net", "precision": "bfloat16"},
        {"model": "org/bad"},
        {"model": "miniature/Llama"},
    )
    found = found[found["check"] == "flag without a row"]
    assert list(zip(found["model"], found["detail"], strict=True)) == [
        (
            "org/nett",
            "Its flag marks no row: no request names this model. Did you mean 'org/net'?",
        ),
        ("org/net", "Its flag marks no row: the model is there in float32 at 0000000."),
        ("org/bad", "Its flag marks no row: no request for this model was accepted."),
    ]
    found = written(found, found_checks.TABLE)
    assert "no request names this model" in Path("suite_checks.md").read_text()
    shown = SuiteBoard(tasks=TASKS, shown_items=0)
    board = suite_tab(written(leaderboard(*rows)), found, list(rows), shown)
    assert "org/nett: Its flag marks no row" in board.about
    assert not board.rows[0].notes


def test_flags_of_the_other_source_wait_for_their_run():
    found, _ = lost({"model": "org/nett"}, {"model": "miniature/Llama"}, source="miniature")
    assert list(found.loc[found["check"] == "flag without a row", "model"]) == ["miniature/Llama"]


def test_two_models_that_answer_alike_are_named_and_twins_of_one_model_are_not():
    one, copy = both(entry("org/one"), GOOD), both(entry("org/copy"), GOOD)
    half, other = both(entry("org/one", "bfloat16"), GOOD), both(entry("org/other"), POOR[::-1])
    found = suite_checks(leaderboard(one, copy, half, other), [one, copy, half, other], asked())
    alike = found[found["check"] == "alike"].set_index(["model", "precision"])["detail"]
    assert alike.to_dict() == {
        ("org/one", "float32"): "Answers every item as org/copy does.",
        ("org/one", "bfloat16"): "Answers every item as org/copy does.",
        ("org/copy", "float32"): "Answers every item as org/one does.",
    }
    alone = both(entry("org/alone"), GOOD), both(entry("org/alone", "bfloat16"), GOOD)
    assert ("org/alone", "alike") not in checks_of(*alone)


def test_nothing_found_is_a_table_all_the_same():
    found = suite_checks(leaderboard(both(entry(), GOOD)), [entry()], asked())
    assert written(found, found_checks.TABLE).empty


def test_a_leaderboard_without_a_row_is_one():
    refused = entry("org/bad", reason="its licence.")
    board = tab(refused)
    assert board.rows == []
    assert written(leaderboard(refused)).empty


@pytest.mark.parametrize("protocol", ["few_shot", "train_before_test"])
def test_a_cell_that_broke_is_named_and_costs_its_own_row_the_average_alone(protocol):
    whole = both(entry("org/whole", protocol=protocol), POOR)
    partial = both(entry("org/partial", protocol=protocol), POOR)
    break_off(partial, "truth")
    table = written(leaderboard(whole, partial))
    assert table["model"].tolist() == ["org/whole", "org/partial"]
    assert table["missing"].tolist() == [None, "truth"]
    (line,) = [
        one for one in Path("suite_leaderboard.md").read_text().splitlines() if "partial" in one
    ]
    assert "Truth" in line and "—" in line
    found = checks_of(whole, partial)
    assert found["org/partial", "missing"] == "truth"
    assert ("org/partial", "alike") not in found, "not all of its answers are known"
    rows = {row.values["name"]: row for row in tab(whole, partial).rows}
    assert "Missing: Truth." in rows["org/partial"].notes
    assert {item.task for item in rows["org/partial"].details.items} == {"SST-2"}
    named = SUITE.values({"suite_leaderboard": table})
    assert (named["suite.rows"], named["suite.ranked"]) == (2, 1)


def test_where_every_cell_broke_there_are_tables_and_a_tab():
    one = both(entry(), POOR)
    for task in ("sst2", "truth"):
        break_off(one, task)
    (row,) = tab(one).rows
    assert row.values["average"] is None
    assert row.notes == ["Missing: SST-2, Truth."]


def test_the_tab_is_plain_json_with_a_row_for_each_and_their_ids_differ():
    hostile = "<img src=x onerror=alert(1)>"
    board = tab(
        both(entry("org/net", note=hostile), GOOD),
        both(entry("org/net", "bfloat16"), POOR),
        both(entry("org/net", commit=OTHER), GOOD),
        both(entry("org/net", protocol="train_before_test"), GOOD),
    )
    json.dumps(asdict(board), allow_nan=False)
    assert len({row.id for row in board.rows}) == len(board.rows) == 4
    fields = {column.field for column in board.columns}
    for row in board.rows:
        assert fields <= set(row.values)
        assert {f"{task.task}_stderr" for task in TASKS} <= set(row.values)
    assert hostile in [row.values["note"] for row in board.rows]
    assert {board.sort, *board.search} <= fields


def test_a_model_under_two_protocols_has_two_rows_with_details_of_their_own():
    asked, trained = entry(), entry(protocol="train_before_test")
    rows = tab(both(asked, POOR), both(trained, GOOD)).rows
    found = {row.values["protocol"]: row for row in rows}
    assert found["few_shot"].details.tasks[0]["score"] == 0.2
    assert found["train_before_test"].details.tasks[0]["score"] == 0.8
    right = [item.right for item in found["train_before_test"].details.items]
    assert sum(right) == 4, "two of each task"
    assert found["few_shot"].notes and not found["train_before_test"].notes


def test_details_hold_each_task_with_error_n_floor_revision_and_cost():
    partial = entry()
    measure(partial, "sst2", GOOD)
    (row,) = tab(partial).rows
    measured, missing = row.details.tasks
    assert list(measured) == list(missing)
    assert (measured["score"], measured["standard error"], measured["n"]) == (0.8, 0.1, 10)
    assert (measured["floor"], measured["revision"]) == (0.25, "1" * 40)
    assert (measured["tokens"], measured["seconds"]) == (100, 1.0)
    assert missing["score"] is None and missing["seconds"] is None
    assert "Missing: Truth." in row.notes


def test_items_are_right_and_wrong_ones_the_same_each_time_and_bounded(monkeypatch):
    one = entry()
    measure(one, "sst2", GOOD, prompt="x" * 5_000, text="y" * 5_000)
    measure(one, "truth", [True, False], correct=None, gold=None, scores={"acc": 0.7})
    (row,) = tab(one).rows
    items = row.details.items
    assert [item.right for item in items if item.task == "SST-2"] == [True, True, False, False]
    assert all(len(item.prompt) <= 601 and len(item.answer) <= 301 for item in items)
    graded = [item for item in items if item.task == "Truth"]
    assert all(item.right and item.gold.startswith("70% of the") for item in graded)
    assert tab(one).rows == [row]
    monkeypatch.setattr(board_suite, "MOST_ITEMS", 3)
    assert 0 < len(tab(one).rows[0].details.items) <= 3
    assert not tab(one, shown_items=0).rows[0].details.items


def test_a_choice_is_shown_by_its_text_and_not_by_its_number():
    (row,) = tab(both(entry(), POOR)).rows
    assert {(item.right, item.answer, item.gold) for item in row.details.items} == {
        (True, "yes", "yes"),
        (False, "no", "yes"),
    }
