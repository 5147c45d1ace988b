"""The published tables: whole, as printed, and in agreement with themselves."""

from pathlib import Path

import pandas as pd
import pytest

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.scores.published_leaderboard import (
    LEADING_COLUMNS,
    TEST_ITEMS,
)
from workflow_scripts.settings.mmlu import PUBLISHED, PUBLISHED_MODEL, published_table
from workflow_scripts.settings.tables import ModelRow, TaskRow, read_table

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "resources/published"
AVERAGES = {
    "mmlu_baseline": 0.2931,
    "mmlu_k2m12_cpt": 0.2312,
    "mmlu_k2m12_cpt_sft": 0.2239,
    "mmlu_k2m6_cpt": 0.2303,
    "mmlu_k2m6_cpt_sft": 0.2148,
}


def table(name: str) -> pd.DataFrame:
    return pd.read_csv(FOLDER / f"{name}.csv", dtype={"value": str, "stderr": str})


def subjects(name: str) -> pd.DataFrame:
    frame = table(name).set_index("task")
    return frame.drop(["all", "helm:mmlu:_average:5"]).astype({"value": float, "stderr": float})


def test_each_variant_has_its_table_and_no_table_is_left_over():
    found = {path.stem for path in FOLDER.glob("mmlu_*.csv")}
    assert found == set(PUBLISHED.values()) == set(AVERAGES)
    for variant, name in PUBLISHED.items():
        assert published_table(CheckpointId.parse(PUBLISHED_MODEL + variant), "huggingface") == name
    ours = CheckpointId.parse(f"{PUBLISHED_MODEL}@k2m6-mlp.none+cpt")
    assert published_table(ours, "huggingface") is None


@pytest.mark.parametrize("name", AVERAGES)
def test_a_table_is_whole_as_printed_and_its_average_is_the_mean_of_its_subjects(name):
    printed = table(name)
    assert len(printed) == 59
    assert (printed["metric"] == "qem").all()
    assert printed[["value", "stderr"]].stack().str.fullmatch(r"0\.\d{4}").all()
    by_task = printed.set_index("task")
    for task in ("all", "helm:mmlu:_average:5"):
        average = by_task.loc[task]
        assert float(average["value"]) == AVERAGES[name]
        assert float(average["value"]) == pytest.approx(subjects(name)["value"].mean(), abs=1e-4)
        # What is printed there as the standard error is the mean of the subjects'.
        assert float(average["stderr"]) == pytest.approx(subjects(name)["stderr"].mean(), abs=1e-4)


@pytest.fixture(scope="module")
def leaderboard() -> pd.DataFrame:
    return pd.read_csv(FOLDER / "harmony_leaderboard.csv", dtype=str)


def test_the_leaderboard_has_61_models_and_24_tasks_that_the_tables_know(leaderboard):
    tasks = leaderboard.columns.drop(list(LEADING_COLUMNS))
    assert len(leaderboard) == leaderboard["model"].nunique() == 61
    assert len(tasks) == 24
    known = read_table(TaskRow, ROOT / "config/tasks.tsv")
    assert set(tasks) == set(TEST_ITEMS) <= set(known)
    assert all(known[task].training for task in tasks)
    assert set(leaderboard["model"]) <= set(read_table(ModelRow, ROOT / "config/models.tsv"))
    assert leaderboard["rank"].tolist() == [str(rank) for rank in range(1, 62)]
    assert leaderboard["pc1"].astype(float).is_monotonic_decreasing


def test_every_printed_accuracy_is_a_whole_number_of_the_items_that_we_say_were_asked(leaderboard):
    for task, items in TEST_ITEMS.items():
        right = leaderboard[task].astype(float) / 100 * items
        # Matthews' coefficient is no count, and of more items two decimals are too coarse to tell.
        if task != "cola" and items < 6000:
            # Two decimals of a percent are half of 0.01% of the items off at most.
            assert (right - right.round()).abs().max() <= 0.5e-4 * items + 1e-6, task
