"""Test that the published tables are complete, as printed, and consistent."""

import pandas as pd

from tests.unit.settings.merged import ROOT
from workflow_scripts.scores.published_leaderboard import LEADING_COLUMNS, TEST_ITEMS
from workflow_scripts.settings.tables import ModelRow, TaskRow, read_table

FOLDER = ROOT / "resources/published"


def test_leaderboard_is_complete_and_consistent():
    leaderboard = pd.read_csv(FOLDER / "harmony_leaderboard.csv")
    assert set(leaderboard.columns.drop(list(LEADING_COLUMNS))) == set(TEST_ITEMS)
    rows = read_table(TaskRow, ROOT / "config/tasks.tsv")
    assert len(TEST_ITEMS) == 24 and all(rows[task].training for task in TEST_ITEMS)
    assert set(leaderboard["model"]) <= set(read_table(ModelRow, ROOT / "config/models.tsv"))
    assert leaderboard["rank"].tolist() == list(range(1, 62))
    assert leaderboard["pc1"].is_monotonic_decreasing
    for task, items in TEST_ITEMS.items():
        # Skip Matthews' coefficient, which is no count, and large tasks, where two decimals are too coarse.
        if task != "cola" and items < 6000:
            right = leaderboard[task] / 100 * items
            # Rounding to two decimals of a percent is off by at most half of 0.01% of the items.
            assert (right - right.round()).abs().max() <= 0.5e-4 * items + 1e-6, task
