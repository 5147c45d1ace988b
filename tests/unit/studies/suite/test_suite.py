"""The leaderboard's tables and its tab: nothing filled, nothing mixed up."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.unit.settings.merged import load
from tests.unit.studies.suite.suite_study import (
    COMMIT,
    TASKS,
    break_off,
    make_entry,
    measure,
    measure_all,
)
from workflow_scripts.render.tables import read_table
from workflow_scripts.scores.files import write_csv
from workflow_scripts.scores.influences import item_errors
from workflow_scripts.scores.tidy import collect, read_records
from workflow_scripts.settings.leaderboard_submissions import Request
from workflow_scripts.studies.suite.board import MODEL_TYPES, make_suite_tab, render_texts
from workflow_scripts.studies.suite.chapter import SUITE
from workflow_scripts.studies.suite.checks import LOST_FLAG, find_suspicious_rows
from workflow_scripts.studies.suite.leaderboard import make_leaderboard
from workflow_scripts.studies.suite.table_requests import suite_page

pytestmark = pytest.mark.usefixtures("here")
GOOD, POOR = [True] * 8 + [False] * 2, [True] * 2 + [False] * 8


def leaderboard(*entries, flags=()) -> pd.DataFrame:
    paths = [Path(path) for entry in entries for path in entry["records"].values()]
    records = read_records([path for path in paths if path.is_file()])
    scores = collect(record for _, record in records)
    return make_leaderboard(scores, list(entries), item_errors(records), TASKS, flags)


def find(*entries, flags=()) -> list[tuple]:
    found = find_suspicious_rows(leaderboard(*entries), list(entries), TASKS, flags)
    return [(row.model, row.check, row.tasks) for row in found.itertuples()]


def test_rows_are_ranked_by_their_average_with_the_gap_on_the_same_items():
    """The poor one is right on two items that the good one has too: six items part them, on either task."""
    table = leaderboard(
        measure_all(make_entry("org/poor"), POOR), measure_all(make_entry("org/good"), GOOD)
    )
    assert list(table["model"]) == ["org/good", "org/poor"]
    assert table["average"].tolist() == pytest.approx([0.8, 0.2])
    assert table["average_stderr"].tolist() == pytest.approx([0.1 / 2**0.5] * 2)
    assert table["behind"].tolist() == pytest.approx([0, 0.6])
    difference = np.array(GOOD, dtype=float) - np.array(POOR, dtype=float)
    stderr = difference.std(ddof=1) / 10**0.5 / 2**0.5
    assert table["behind_stderr"].tolist() == pytest.approx([np.nan, stderr], nan_ok=True)


def test_precisions_commits_and_protocols_are_rows_with_scores_and_flags_of_their_own():
    rows = [
        measure_all(make_entry(), GOOD),
        measure_all(make_entry(precision="bfloat16"), POOR),
        measure_all(make_entry(commit="1" * 40), [True] * 10),
        measure_all(make_entry(protocol="train_before_test"), [False] * 10),
    ]
    flag = {"model": "org/net", "precision": "bfloat16", "revision": COMMIT[:7]}
    flag |= {"reason": "Copied.", "link": "https://example.org/1"}
    table = leaderboard(*rows, make_entry("org/bad", reason="its licence."), flags=[flag])
    keys = ["precision", "commit", "protocol"]
    assert table.set_index(keys)["average"].to_dict() == {
        ("float32", COMMIT, "few_shot"): pytest.approx(0.8),
        ("bfloat16", COMMIT, "few_shot"): pytest.approx(0.2),
        ("float32", "1" * 40, "few_shot"): pytest.approx(1.0),
        ("float32", COMMIT, "train_before_test"): pytest.approx(0.0),
    }
    assert table.loc[table["flag"].notna(), "precision"].tolist() == ["bfloat16"]
    lost = [flag, flag | {"model": "org/nett"}]
    found = [row for row in find(*rows, flags=lost) if row[1] == LOST_FLAG]
    assert [model for model, *_ in found] == ["org/nett"]


def test_suspicious_rows_are_found():
    partial = make_entry("org/partial")
    measure(partial, "sst2", [True] * 5)
    rows = [
        measure_all(make_entry("org/good"), GOOD),
        measure_all(make_entry("org/poor"), POOR),
        measure_all(make_entry("org/copy"), GOOD),
        measure_all(make_entry("org/good", "bfloat16"), GOOD),
        partial,
    ]
    assert sorted(find(*rows)) == [
        ("org/copy", "alike", ""),
        ("org/good", "alike", ""),
        ("org/good", "alike", ""),
        ("org/partial", "above 95%", "sst2"),
        ("org/partial", "fewer items", "sst2"),
        ("org/partial", "missing", "truth"),
        ("org/poor", "at the floor", "sst2 truth"),
    ]
    assert not find(rows[0], rows[3]), "two rows of one model are no copies"


def test_a_broken_cell_is_named_and_costs_its_own_row_the_average_alone():
    whole, partial = (measure_all(make_entry(f"org/{name}"), POOR) for name in ("whole", "partial"))
    break_off(partial, "truth")
    table = leaderboard(whole, partial)
    assert table["model"].tolist() == ["org/whole", "org/partial"]
    assert table["missing"].fillna("").tolist() == ["", "truth"]
    assert pd.isna(table["truth"].iloc[1]) and table["sst2"].iloc[1] == 0.2
    assert ("org/partial", "missing", "truth") in find(whole, partial)
    values = SUITE.values({"suite_leaderboard": table})
    assert (values["suite.rows"], values["suite.ranked"]) == (2, 1)


def test_tab_has_baselines_icons_and_findings():
    published = {"name": "Somebody's model", "task": "truth", "metric": "acc", "percent": "20.0"}
    published |= {"items": "400", "what": "Of another protocol.", "source": "A paper"}
    page = suite_page(load({})) | {"tasks": TASKS, "baselines": [published]}
    rows = [
        measure_all(make_entry("org/good"), GOOD),
        measure_all(make_entry("org/poor"), POOR),
    ]
    table = leaderboard(*rows)
    write_csv(table, Path("leaderboard.csv"))
    write_csv(find_suspicious_rows(table, rows, TASKS), Path("checks.csv"))
    tab = make_suite_tab(Path("leaderboard.csv"), Path("checks.csv"), page)
    floor, chance, baseline, good, poor = tab.rows
    assert (floor["model"], floor["sst2"], floor["average"]) == ("Floor", 0.25, 0.25)
    assert chance["average"] is None and "sst2" not in chance
    assert baseline["truth"] == 0.2 and baseline["truth_stderr"] == pytest.approx(0.02)
    assert (good["model_type"], good["sst2"], good["sst2_stderr"]) == ("● pretrained", 0.8, 0.1)
    assert good["checks"] is None and poor["checks"] == "At the floor: SST-2, Truth."
    board = read_table(Path("leaderboard.csv"))
    assert board["average"].tolist() == pytest.approx([0.8, 0.2])


def test_about_has_the_rules_of_the_config_and_every_key_of_a_request():
    tasks = [{"task": "sciq", "shots": 7, "max_items": None}]
    suite = {"tasks": tasks, "max_items": 50, "memory_mb": 23_456, "open_licences": ["zlib"]}
    texts = render_texts(suite_page(load({"suite": suite})))
    for words in ("<td>7</td>", "<td>50</td>", "23,456 MB", "none of: zlib.", "config/flags.yaml"):
        assert words in texts["About"]
    assert all(f"<td>{name}" in texts["About"] for name in Request.model_fields)
    assert len({icon for icon, _ in MODEL_TYPES.values()}) == len(MODEL_TYPES)
