"""The leaderboard's tables and its tab."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.unit.settings.merged import load
from tests.unit.studies.suite.suite_study import COMMIT, TASKS, fail, make_entry, measure
from workflow_scripts.scores.files import write_csv
from workflow_scripts.scores.influences import item_errors
from workflow_scripts.scores.tidy import collect, read_records
from workflow_scripts.settings.leaderboard_submissions import Request
from workflow_scripts.studies.suite.board import MODEL_TYPES, make_suite_tab, render_texts
from workflow_scripts.studies.suite.chapter import SUITE
from workflow_scripts.studies.suite.checks import find_suspicious_rows
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
    findings = find_suspicious_rows(leaderboard(*entries), list(entries), TASKS, flags)
    return [(row.model, row.check, row.tasks) for row in findings.itertuples()]


def test_rows_are_ranked_with_the_gap_on_the_same_items():
    table = leaderboard(
        measure(make_entry("org/poor"), POOR), measure(make_entry("org/good"), GOOD)
    )
    assert list(table["model"]) == ["org/good", "org/poor"]
    assert table["average"].tolist() == pytest.approx([0.8, 0.2])
    assert table["average_stderr"].tolist() == pytest.approx([0.1 / 2**0.5] * 2)
    assert table["behind"].tolist() == pytest.approx([0, 0.6])
    difference = np.array(GOOD, dtype=float) - np.array(POOR, dtype=float)
    stderr = difference.std(ddof=1) / 10**0.5 / 2**0.5
    assert table["behind_stderr"].tolist() == pytest.approx([np.nan, stderr], nan_ok=True)


def test_precision_commit_and_protocol_make_rows():
    rows = [
        measure(make_entry(), GOOD),
        measure(make_entry(precision="bfloat16"), POOR),
        measure(make_entry(commit="1" * 40), [True] * 10),
        measure(make_entry(protocol="train_before_test"), [False] * 10),
    ]
    flag = {"model": "org/net", "precision": "bfloat16", "revision": COMMIT[:7]}
    flag |= {"reason": "Copied.", "link": "https://example.org/1"}
    table = leaderboard(*rows, make_entry("org/bad", reason="its licence."), flags=[flag])
    averages = table.set_index(["precision", "commit", "protocol"])["average"].to_dict()
    assert averages == {
        ("float32", COMMIT, "few_shot"): pytest.approx(0.8),
        ("bfloat16", COMMIT, "few_shot"): pytest.approx(0.2),
        ("float32", "1" * 40, "few_shot"): pytest.approx(1.0),
        ("float32", COMMIT, "train_before_test"): pytest.approx(0.0),
    }
    assert table.loc[table["flag"].notna(), "precision"].tolist() == ["bfloat16"]
    findings = find(*rows, flags=[flag, flag | {"model": "org/nett"}])
    assert findings[-1][:2] == ("org/nett", "flag without a row")


def test_suspicious_rows_are_found():
    rows = [
        measure(make_entry("org/good"), GOOD),
        measure(make_entry("org/poor"), POOR),
        measure(make_entry("org/copy"), GOOD),
        measure(make_entry("org/good", "bfloat16"), GOOD),
        measure(make_entry("org/partial"), [True] * 5, ["sst2"]),
    ]
    assert sorted(find(*rows)) == [
        ("org/copy", "identical", ""),
        ("org/good", "identical", ""),
        ("org/good", "identical", ""),
        ("org/partial", "above 95%", "sst2"),
        ("org/partial", "fewer items", "sst2"),
        ("org/partial", "missing", "truth"),
        ("org/poor", "at the baseline", "sst2 truth"),
    ]
    assert not find(rows[0], rows[3]), "two rows of one model are no copies"


def test_failed_cell_costs_the_average_of_its_row():
    whole, partial = (measure(make_entry(f"org/{name}"), POOR) for name in ("whole", "partial"))
    fail(partial, "truth")
    table = leaderboard(whole, partial)
    assert table["model"].tolist() == ["org/whole", "org/partial"]
    assert table["missing"].fillna("").tolist() == ["", "truth"]
    assert pd.isna(table["truth"].iloc[1]) and table["sst2"].iloc[1] == 0.2
    values = SUITE.values({"suite_leaderboard": table})
    assert (values["suite.rows"], values["suite.ranked"]) == (2, 1)


def test_tab_has_baselines_icons_and_findings():
    published = {"name": "A model", "task": "truth", "metric": "acc", "percent": "20.0"}
    published |= {"items": "400", "what": "Of another protocol.", "source": "A paper"}
    page = suite_page(load({})) | {"tasks": TASKS, "baselines": [published]}
    rows = [measure(make_entry("org/good"), GOOD), measure(make_entry("org/poor"), POOR)]
    table = leaderboard(*rows)
    write_csv(table, Path("leaderboard.csv"))
    write_csv(find_suspicious_rows(table, rows, TASKS), Path("checks.csv"))
    tab = make_suite_tab(Path("leaderboard.csv"), Path("checks.csv"), page)
    baseline, chance, paper, good, poor = tab.rows
    assert (baseline["model"], baseline["sst2"], baseline["average"]) == ("Baseline", 0.25, 0.25)
    assert chance["average"] is None and "sst2" not in chance
    assert paper["truth"] == 0.2 and paper["truth_stderr"] == pytest.approx(0.02)
    assert (good["model_type"], good["sst2"], good["sst2_stderr"]) == ("● pretrained", 0.8, 0.1)
    assert good["checks"] is None and poor["checks"] == "At the baseline: SST-2, Truth."


def test_about_has_the_config_s_rules_and_every_key_of_a_request():
    tasks = [{"task": "sciq", "shots": 7, "max_items": None}]
    suite = {"tasks": tasks, "max_items": 50, "memory_mb": 23_456, "open_licences": ["zlib"]}
    texts = render_texts(suite_page(load({"suite": suite})))
    for words in ("<td>7</td>", "<td>50</td>", "23,456 MB", "none of: zlib.", "config/flags.yaml"):
        assert words in texts["About"]
    assert all(f"<td>{name}" in texts["About"] for name in Request.model_fields)
    assert len({icon for icon, _ in MODEL_TYPES.values()}) == len(MODEL_TYPES)
