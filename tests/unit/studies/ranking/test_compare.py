"""Test comparing two models, by grids or by two result folders, and impossible comparisons."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, ttest_1samp

from tests.records import write_lm_eval_results
from tests.unit.studies.harmony.harmony_study import (
    MODELS,
    SETTINGS,
    build_grids,
    drop_cell,
    make_study,
)
from workflow_scripts.core.errors import UserError
from workflow_scripts.stats.significance import correct_by_holm
from workflow_scripts.studies.ranking.compare import (
    compare_folders,
    compare_grids,
    compare_scores,
    describe_verdict,
)
from workflow_scripts.studies.ranking.grid_tables import OVERALL

FIRST, SECOND = MODELS[5], MODELS[0]


def compare(scores, *names):
    return compare_grids({"harmony": build_grids(scores)}, {"harmony": SETTINGS}, names)


def test_compare_scores_errors_and_correction():
    differences = np.random.default_rng(3).standard_normal(6)
    columns = {"difference": differences, "items": 0.3, "trainings": 0.4, "at_baseline": False}
    rows = list(compare_scores(pd.DataFrame(columns), after_training=True))
    items, trainings, tasks = (row for row in rows if row["task"] == OVERALL)
    assert items["difference"] == trainings["difference"] == pytest.approx(differences.mean())
    assert items["stderr"] == pytest.approx(0.3 / np.sqrt(6))
    assert trainings["stderr"] == pytest.approx(0.5 / np.sqrt(6))
    interval = ttest_1samp(differences, 0).confidence_interval()
    assert (tasks["low"], tasks["high"]) == pytest.approx((interval.low, interval.high))
    single = [row["p_holm"] for row in rows[3:]]
    assert single == pytest.approx(correct_by_holm(2 * norm.sf(np.abs(differences / 0.5))))


def test_comparison_uses_common_tasks():
    scores = drop_cell(make_study(), FIRST, "rte", "direct")
    table, swapped = compare(scores, FIRST, SECOND), compare(scores, SECOND, FIRST)
    tasks = table[table["task"] == OVERALL].groupby("protocol")["tasks"].first()
    assert tasks.to_dict() == {"direct": 4, "train-before-test": 5}
    assert set(table["scores"]) == {"own scores"}
    assert (swapped["difference"] == -table["difference"]).all()


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ((0.02, 0.03, np.nan), "a is better"),
        ((-0.03, -0.02, 0.01), "b is better"),
        ((0.02, 0.03, 0.2), "not settled"),
        ((np.nan, np.nan, np.nan), "unknown: there is a single task"),
    ],
)
def test_describe_verdict(row, expected):
    row = dict(zip(("low", "high", "p_holm"), row, strict=True))
    row |= {"difference": 0.02, "detectable": 0.01, "at_baseline": True, "question": "tasks"}
    assert describe_verdict(row, ("a", "b")).startswith(expected)


def test_baseline_models_are_described():
    scores = make_study(("direct",), (FIRST, SECOND)).assign(value=0.5, baseline=0.48)
    grids = {"harmony": build_grids(scores, protocols=("direct",), models=(FIRST, SECOND))}
    table = compare_grids(grids, {"harmony": SETTINGS}, (FIRST, SECOND))
    assert table["at_baseline"].all()
    assert "both at the baseline" in describe_verdict(table.iloc[0], "ab")


def test_folders_are_paired_by_item(tmp_path):
    folders = [str(tmp_path / name) for name in "ab"]
    first = write_lm_eval_results(tmp_path / "a", "m", "new_task", 9, version="0.4.8")
    write_lm_eval_results(tmp_path / "b", "m", "new_task", 3, shots=5)
    table, notes = compare_folders(folders, {}, {})
    row = table[table["task"] == "new_task acc"].iloc[0]
    right = np.arange(10)
    differences = (right < 9).astype(float) - (right < 3)
    assert row["difference"] == pytest.approx(0.6)
    assert row["stderr"] == pytest.approx(differences.std() / np.sqrt(10))
    assert [note.split()[1] for note in notes] == ["harness", "shots"]
    # Without prompt hashes there is a warning, and without samples the comparison is unpaired.
    samples = [json.loads(line) for line in first.read_text().splitlines()]
    without_hashes = [{**sample, "prompt_hash": ""} for sample in samples]
    first.write_text("\n".join(map(json.dumps, without_hashes)))
    assert "Caution" in compare_folders(folders, {}, {})[1][-1]
    first.unlink()
    assert compare_folders(folders, {}, {})[0]["stderr"].iloc[0] == pytest.approx(0.1 * 2**0.5)


def test_unknown_model_is_refused():
    with pytest.raises(UserError, match=r"no scores on a common task.*Did you mean"):
        compare(make_study(), FIRST, "miniature/Llama-9M")
