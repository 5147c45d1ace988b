"""Test the leaderboard's tables and its tab."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.records import collect
from tests.unit.studies.suite.suite_study import COMMIT, TASKS, fail, make_entry, measure
from workflow_scripts.scores.files import write_csv
from workflow_scripts.studies.suite.board import make_suite_tab
from workflow_scripts.studies.suite.chapter import NUMBER_FUNCTIONS
from workflow_scripts.studies.suite.leaderboard import make_leaderboard

GOOD, FAIR, POOR = ([True] * n + [False] * (10 - n) for n in (8, 7, 2))
FLAG = {"model": "org/net", "reason": "Copied.", "link": "https://example.org/1"}


@pytest.fixture
def entries(here):
    """Write four rows for one model, a refused request, and rows with missing scores."""
    partial = measure(make_entry("org/partial"), [True] * 5, ["sst2"])
    fail(partial, "truth")
    return [
        measure(make_entry(), POOR),
        measure(make_entry(precision="bfloat16"), GOOD),
        measure(make_entry(commit="1" * 40), FAIR),
        make_entry("org/bad", reason="its licence."),
        partial,
    ]


@pytest.fixture
def table(entries):
    paths = [Path(path) for entry in entries for path in entry["records"].values()]
    scores, errors = collect([path for path in paths if path.is_file()])
    accepted = [entry["request"] | entry for entry in entries if not entry["reason"]]
    return make_leaderboard(scores, accepted, errors, TASKS, [FLAG])


def test_leaderboard(table):
    keys = table[["model", "precision", "commit"]].to_numpy().tolist()
    assert keys == [
        ["org/net", "bfloat16", COMMIT],
        ["org/net", "float32", "1" * 40],
        ["org/net", "float32", COMMIT],
        ["org/partial", "float32", COMMIT],
    ]
    averages = [0.8, 0.7, 0.2, np.nan]
    assert table["average"].tolist() == pytest.approx(averages, nan_ok=True)
    assert table["average_stderr"][0] == pytest.approx(0.1 / 2**0.5)
    assert table["behind"][:3].tolist() == pytest.approx([0, 0.1, 0.6])
    differences = [np.subtract(GOOD, right, dtype=float) for right in (FAIR, POOR)]
    stderrs = [gap.std(ddof=1) / 10**0.5 / 2**0.5 for gap in differences]
    assert table["behind_stderr"][:3].tolist() == pytest.approx([np.nan, *stderrs], nan_ok=True)
    assert table["flag"].notna().tolist() == [True, True, True, False]
    assert pd.isna(table["truth"][3]) and table["sst2"][3] == 1.0
    values = NUMBER_FUNCTIONS["suite_leaderboard"](table)
    assert (values["suite.rows"], values["suite.ranked"], values["suite.flagged"]) == (4, 3, 3)


def test_tab(table):
    published = {"name": "A model", "task": "truth", "metric": "acc", "percent": "20.0"}
    published |= {"items": "400", "what": "Of another protocol.", "source": "A paper"}
    lines = [published, published | {"metric": "mc1"}]  # of a metric that the suite does not show
    pd.DataFrame(lines).to_csv("baselines.tsv", sep="\t", index=False)
    write_csv(table, Path("leaderboard.csv"))
    tab = make_suite_tab(Path("leaderboard.csv"), Path("baselines.tsv"), {"tasks": TASKS})
    baseline, chance, paper, good, *_ = tab.rows
    assert (baseline["model"], baseline["sst2"], baseline["average"]) == ("Baseline", 0.25, 0.25)
    assert chance["average"] is None and "sst2" not in chance
    assert paper["truth"] == 0.2 and paper["truth_stderr"] == pytest.approx(0.02)
    assert (good["model_type"], good["sst2"], good["sst2_stderr"]) == ("● pretrained", 0.8, 0.1)
