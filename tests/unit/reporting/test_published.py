"""The published MMLU tables: whole, in agreement with themselves, and one for each variant."""

from pathlib import Path

import pandas as pd
import pytest

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.settings.mmlu import PUBLISHED, PUBLISHED_MODEL, published_table

FOLDER = Path(__file__).parents[3] / "resources/published"
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
    assert {path.stem for path in FOLDER.glob("*.csv")} == set(PUBLISHED.values()) == set(AVERAGES)
    for variant, name in PUBLISHED.items():
        assert published_table(CheckpointId.parse(PUBLISHED_MODEL + variant), "huggingface") == name
        stand_in = CheckpointId.parse(f"miniature/Qwen2-1M-Instruct{variant}")
        assert published_table(stand_in, "miniature") == name
    other = CheckpointId.parse("Qwen/Qwen2.5-7B-Instruct")
    assert published_table(other, "huggingface") is None
    assert published_table(CheckpointId.parse(f"{PUBLISHED_MODEL}@k2m6"), "huggingface") is None


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


def test_the_two_cpt_models_agree_where_one_fixed_answer_would():
    one, other = subjects("mmlu_k2m12_cpt"), subjects("mmlu_k2m6_cpt")
    assert (one["value"] == other["value"]).sum() == 50
