"""The leaderboard's tables and its tab: nothing filled, nothing mixed up."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.records import make_scores
from tests.unit.settings.merged import load
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
from workflow_scripts.render.tables import read_table, write_table
from workflow_scripts.scores.influences import item_errors
from workflow_scripts.scores.tidy import collect, whole_records
from workflow_scripts.studies.suite import checks
from workflow_scripts.studies.suite.board import make_suite_tab
from workflow_scripts.studies.suite.chapter import SUITE
from workflow_scripts.studies.suite.checks import find_suspicious_rows
from workflow_scripts.studies.suite.leaderboard import (
    format_columns,
    make_imported_entries,
    make_leaderboard,
)
from workflow_scripts.studies.suite.table_requests import suite_page

pytestmark = pytest.mark.usefixtures("here")

GOOD, POOR = [True] * 8 + [False] * 2, [True] * 2 + [False] * 8
OTHER = "1" * 40


def leaderboard(*entries, flags=()):
    paths = [Path(path) for one in entries for path in one["records"].values()]
    records = whole_records([path for path in paths if path.is_file()])
    scores = collect(record for _, record in records)
    return make_leaderboard(scores, list(entries), asked(*flags), item_errors(records))


def write(table, name="leaderboard"):
    """Write a table, and read it as the next script does."""
    files = [Path(f"{name}.{kind}") for kind in ("csv", "md", "tex")]
    write_table(table, files, title=name, note="", shown={"row": table.index.astype(str)})
    return read_table(files[0])


def make_tab(table, found):
    write(table)
    write(found, "checks")
    page = suite_page(load({})).model_copy(update={"tasks": TASKS, "baselines": (PUBLISHED,)})
    return make_suite_tab(Path("leaderboard.csv"), Path("checks.csv"), page)


def both(one, right):
    for task in ("sst2", "truth"):
        measure(one, task, right)
    return one


def test_rows_are_ranked_by_their_average_with_the_gap_on_the_same_items():
    """The poor one is right on two items that the good one has too: six items part them, on either task."""
    table = leaderboard(both(entry("org/poor"), POOR), both(entry("org/good"), GOOD))
    assert list(table["model"]) == ["org/good", "org/poor"]
    assert table["average"].tolist() == pytest.approx([0.8, 0.2])
    assert table["average_stderr"].tolist() == pytest.approx([0.1 / 2**0.5] * 2)
    assert table["behind"].tolist() == pytest.approx([0, 0.6])
    difference = np.array(GOOD, dtype=float) - np.array(POOR, dtype=float)
    assert np.isnan(table["behind_stderr"].iloc[0])
    stderr = difference.std(ddof=1) / 10**0.5 / 2**0.5
    assert table["behind_stderr"].iloc[1] == pytest.approx(stderr)
    shown = format_columns(table, asked())
    assert {"SST-2 (acc, 5-shot)", "Truth (mc2, 0-shot)"} <= shown.keys()
    assert shown["SST-2 (acc, 5-shot)"][0] == "80.0 ± 10.0"
    assert shown["Behind the first"][1] == "60.0 ± 11.5"


def test_imported_results_are_rows_where_they_have_the_same_shots():
    own = both(entry("org/good"), GOOD)
    about = {"harness": "lm_eval", "harness_version": "0.4.2", "model": "org/theirs"}
    about |= {"study": "theirs", "file": "r.json", "commit": None, "dtype": None, "scores": []}
    found = [
        about | {"task": task, "protocol": "few_shot", "shots": shots}
        for task, shots in (("sst2", 5), ("truth", 0))
    ]
    write_json(Path("theirs/cells.json"), found)
    theirs = [
        {"study": "theirs", "model": "org/theirs", "variant": "", "metric": "acc", "value": 0.5}
        | {key: one[key] for key in ("task", "protocol", "shots")}
        for one in found
    ]
    records = whole_records([Path(path) for path in own["records"].values()])
    scores = pd.concat([collect(record for _, record in records), make_scores(theirs)])
    entries = [own, *make_imported_entries([Path("theirs")], TASKS)]
    table = write(make_leaderboard(scores, entries, asked(), item_errors(records)))
    assert table["origin"].tolist() == ["own", "theirs"]
    assert table["average"].tolist() == pytest.approx([0.8, 0.5])
    assert table["behind_stderr"].isna().all(), "theirs have no answers"
    assert table["note"].iloc[1] == "Imported, measured by lm_eval 0.4.2."
    fewer = [one.model_copy(update={"shots": 3}) for one in TASKS]
    assert not make_imported_entries([Path("theirs")], fewer)


def test_precisions_commits_and_protocols_are_rows_with_scores_of_their_own():
    rows = [
        both(entry("org/net"), GOOD),
        both(entry("org/net", "bfloat16"), POOR),
        both(entry("org/net", commit=OTHER), [True] * 10),
        both(entry("org/net", protocol="train_before_test"), [False] * 10),
    ]
    table = leaderboard(*rows, entry("org/bad", reason="its licence."))
    found = {(row.precision, row.commit, row.protocol): row.average for row in table.itertuples()}
    assert found == {
        ("float32", COMMIT, "few_shot"): pytest.approx(0.8),
        ("bfloat16", COMMIT, "few_shot"): pytest.approx(0.2),
        ("float32", OTHER, "few_shot"): pytest.approx(1.0),
        ("float32", COMMIT, "train_before_test"): pytest.approx(0.0),
    }


def test_a_flag_marks_its_rows_and_no_others():
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


def find(*entries):
    found = find_suspicious_rows(leaderboard(*entries), list(entries), asked())
    return {(row.model, row.check): row.tasks for row in found.itertuples()}


def test_what_is_at_the_floor_above_95_missing_or_on_fewer_items_is_found():
    good = both(entry("org/good"), GOOD)
    poor = both(entry("org/poor"), POOR)
    partial = entry("org/partial")
    measure(partial, "sst2", [True] * 5)
    unsure = both(entry("org/unsure"), GOOD)
    measure(unsure, "sst2", GOOD, stderr=0.3)
    measure(unsure, "truth", GOOD[::-1], stderr=0.2)
    assert find(good, poor, partial, unsure) == {
        ("org/poor", "at the floor"): "sst2 truth",
        ("org/partial", "above 95%"): "sst2",
        ("org/partial", "missing"): "truth",
        ("org/partial", "fewer items"): "sst2",
        ("org/unsure", "at the floor"): "sst2",
    }


@pytest.mark.parametrize("source", ["huggingface", "miniature"])
def test_a_flag_that_marks_no_row_of_this_source_is_named(source):
    rows = [both(entry("org/net"), GOOD), entry("org/bad", reason="its licence.")]
    names = ["org/net", "org/nett", "org/bad", "miniature/Llama"]
    flags = [
        {
            "model": name,
            "precision": None,
            "revision": None,
            "reason": "Copied.",
            "link": "https://a.org",
        }
        for name in names
    ]
    table = leaderboard(*rows)
    found = find_suspicious_rows(table, rows, asked(*flags, source=source))
    lost = found[found["check"] == checks.LOST_FLAG]
    if source == "miniature":
        assert lost["model"].tolist() == ["miniature/Llama"]
        return
    assert lost["model"].tolist() == ["org/nett", "org/bad"]
    assert lost["detail"].iloc[0].endswith("Did you mean 'org/net'?")
    assert "org/nett: Its flag marks no accepted row" in make_tab(table, found).about


def test_two_models_that_answer_alike_are_named_and_twins_of_one_model_are_not():
    one, copy = both(entry("org/one"), GOOD), both(entry("org/copy"), GOOD)
    half, other = both(entry("org/one", "bfloat16"), GOOD), both(entry("org/other"), POOR[::-1])
    entries = [one, copy, half, other]
    found = find_suspicious_rows(leaderboard(*entries), entries, asked())
    alike = found[found["check"] == "alike"].set_index(["model", "precision"])["detail"]
    assert alike.to_dict() == {
        ("org/one", "float32"): "Answers every item as org/copy does.",
        ("org/one", "bfloat16"): "Answers every item as org/copy does.",
        ("org/copy", "float32"): "Answers every item as org/one does.",
    }
    assert ("org/one", "alike") not in find(one, half)


@pytest.mark.parametrize("protocol", ["few_shot", "train_before_test"])
def test_a_broken_cell_is_named_and_costs_its_own_row_the_average_alone(protocol):
    whole = both(entry("org/whole", protocol=protocol), POOR)
    partial = both(entry("org/partial", protocol=protocol), POOR)
    break_off(partial, "truth")
    table = write(leaderboard(whole, partial))
    assert table["model"].tolist() == ["org/whole", "org/partial"]
    assert table["missing"].fillna("").tolist() == ["", "truth"]
    assert pd.isna(table["truth"].iloc[1]) and table["sst2"].iloc[1] == 0.2
    found = find(whole, partial)
    assert found["org/partial", "missing"] == "truth"
    assert ("org/partial", "alike") not in found, "not all of its answers are known"
    named = SUITE.values({"suite_leaderboard": table})
    assert (named["suite.rows"], named["suite.ranked"]) == (2, 1)


def test_tab_has_baselines_icons_findings_and_nothing_for_no_rows():
    rows = [both(entry("org/good"), GOOD), both(entry("org/poor"), POOR)]
    table = leaderboard(*rows)
    tab = make_tab(table, find_suspicious_rows(table, rows, asked()))
    floor, chance, published, good, poor = tab.rows
    assert [row["model"] for row in (floor, chance, published)] == [
        "Floor",
        "Random answers",
        PUBLISHED["name"],
    ]
    assert (floor["sst2"], floor["average"]) == (0.25, 0.25)
    assert chance["average"] is None and "sst2" not in chance
    assert published["truth"] == 0.2 and published["truth_stderr"] == pytest.approx(0.02)
    assert "A paper" in published["checks"]
    assert (good["model_type"], good["sst2"], good["sst2_stderr"]) == ("● pretrained", 0.8, 0.1)
    assert good["checks"] is None and poor["checks"] == "At the floor: SST-2, Truth."
    refused = entry("org/bad", reason="its licence.")
    empty = leaderboard(refused)
    tab = make_tab(empty, find_suspicious_rows(empty, [refused], asked()))
    assert all(row["is_baseline"] for row in tab.rows)
