"""The published tables: whole, as printed, and in agreement with themselves."""

import pandas as pd
import pytest

from tests.unit.settings.merged import ROOT
from workflow_scripts.scores.published_leaderboard import LEADING_COLUMNS, TEST_ITEMS
from workflow_scripts.settings.tables import ModelRow, TaskRow, read_table

FOLDER = ROOT / "resources/published"
AVERAGES = {
    "mmlu_baseline": 0.2931,
    "mmlu_k2m12_cpt": 0.2312,
    "mmlu_k2m12_cpt_sft": 0.2239,
    "mmlu_k2m6_cpt": 0.2303,
    "mmlu_k2m6_cpt_sft": 0.2148,
}


@pytest.mark.parametrize("name", AVERAGES)
def test_table_average_is_subject_mean(name):
    table = pd.read_csv(FOLDER / f"{name}.csv").set_index("task")[["value", "stderr"]]
    assert len(table) == 59
    averages = ["all", "helm:mmlu:_average:5"]
    # What is printed there as the standard error is the mean of the subjects'.
    means = table.drop(averages).mean()
    assert (table.loc[averages, "value"] == AVERAGES[name]).all()
    assert ((table.loc[averages] - means).abs() < 1e-4).all(axis=None)


def test_leaderboard_is_complete_and_consistent():
    leaderboard = pd.read_csv(FOLDER / "harmony_leaderboard.csv")
    assert set(leaderboard.columns.drop(list(LEADING_COLUMNS))) == set(TEST_ITEMS)
    rows = read_table(TaskRow, ROOT / "config/tasks.tsv")
    assert len(TEST_ITEMS) == 24 and all(rows[task].training for task in TEST_ITEMS)
    assert set(leaderboard["model"]) <= set(read_table(ModelRow, ROOT / "config/models.tsv"))
    assert leaderboard["rank"].tolist() == list(range(1, 62))
    assert leaderboard["pc1"].is_monotonic_decreasing
    for task, items in TEST_ITEMS.items():
        # Matthews' coefficient is no count, and of more items two decimals are too coarse to tell.
        if task != "cola" and items < 6000:
            right = leaderboard[task] / 100 * items
            # Two decimals of a percent are half of 0.01% of the items off at most.
            assert (right - right.round()).abs().max() <= 0.5e-4 * items + 1e-6, task
