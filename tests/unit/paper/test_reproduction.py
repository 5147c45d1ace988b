"""Test the comparison of published numbers with ours: agreement, difference, or not comparable, with a reason."""

import math
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from tests.unit.settings.merged import load
from workflow_scripts.render.verdict import (
    AGREES,
    DIFFERENCE_Z,
    DIFFERS,
    INCONCLUSIVE,
    NOT_COMPARABLE,
    NOT_MEASURED,
    compute_repeat_error,
    judge_numbers,
)
from workflow_scripts.scores.published_leaderboard import LEADING_COLUMNS, TEST_ITEMS
from workflow_scripts.studies.harmony.published import compare_cells, compare_harmony
from workflow_scripts.studies.mmlu.published import compare_mmlu
from workflow_scripts.studies.prompts.published import compare_prompts
from workflow_scripts.studies.ranking.errors import estimate_published_noise
from workflow_scripts.studies.ranking.grid_settings import list_model_rows
from workflow_scripts.studies.ranking.grid_tables import CLIPPED, DIRECT

PUBLISHED = Path(__file__).parents[3] / "resources/published"
MODEL, LLAMA = "Qwen/Qwen2.5-0.5B-Instruct", "meta-llama/Llama-3.2-1B-Instruct"
read = cache(lambda name: pd.read_csv(PUBLISHED / f"{name}.csv"))


def judge(rows, scores=0.0):
    return judge_numbers(pd.DataFrame(rows), scores)


@pytest.mark.parametrize(
    ("published", "own", "error", "expected", "z"),
    [
        ((0.30, 0.01), (0.30, 0.01), None, INCONCLUSIVE, 0),
        ((0.30, 0.01), (0.25, 0.01), None, DIFFERS, -0.05 / math.hypot(0.01, 0.01)),
        ((0.30, None), (0.32, 0.01), None, INCONCLUSIVE, 0.02 / math.hypot(0.01, 0.01)),
        ((0.3333, 0.0), (1 / 3, 0.0), None, INCONCLUSIVE, 0),  # equal after rounding
        ((0.0, 0.0), (0.5, 0.0), None, DIFFERS, math.inf),
        ((0.30, 0.05), (0.33, 0.05), 0.01, DIFFERS, 3),  # on the same items
        ((0.5, 0.02), (0.501, 0.02), compute_repeat_error(1000, 1e-3), INCONCLUSIVE, 1),
        ((0.5, 0.02), (0.504, 0.02), compute_repeat_error(1000, 1e-3), DIFFERS, 4),
    ],
)
def test_verdict_by_two_standard_errors(published, own, error, expected, z):
    row = {"published": published[0], "published_stderr": published[1], "printed_to": 1e-4}
    row |= {"ours": own[0], "ours_stderr": own[1], "error": error}
    (result,) = judge([row]).to_dict("records")
    assert (result["verdict"], result["z"]) == (expected, pytest.approx(z))


def test_agreement_by_equivalence_tests():
    cases = [(0.005, 0.008), (0.005, 0.010), (0.015, 0.008), (0.001, 0.0004), (0.018, 0.001)]
    rows = [
        {"published": 0.3, "ours": 0.3 + difference, "error": error, "printed_to": 0}
        for difference, error in cases
    ]
    table = judge(rows, scores=0.02)
    expected = []
    for difference, error in cases:
        above, below = (norm.sf((0.02 + sign * difference) / error) for sign in (1, -1))
        agrees = AGREES if max(above, below) < 0.05 else INCONCLUSIVE
        expected.append(DIFFERS if abs(difference) >= DIFFERENCE_Z * error else agrees)
    expected_verdicts = [AGREES, INCONCLUSIVE, INCONCLUSIVE, DIFFERS, DIFFERS]
    assert table["verdict"].tolist() == expected == expected_verdicts
    assert norm.sf(DIFFERENCE_Z - table.loc[0, "smallest"] / 0.008) == pytest.approx(0.8, abs=0.001)


def test_all_mmlu_subjects_are_compared():
    published = read("mmlu_baseline")
    rows = published[~published["task"].str.contains("_average")]
    subjects = rows["task"].str.split(":").str[2].fillna("macro")
    own = rows.assign(subject=subjects, qem=rows["value"], qem_stderr=rows["stderr"])
    own = own.assign(model=MODEL, variant="", n=100)
    own.loc[own["subject"] == "virology", "qem"] -= 0.3

    def compare(checkpoints):
        return judge(compare_mmlu({"mmlu_baseline": published}, own, checkpoints))

    compared = compare({"mmlu_baseline": MODEL})
    table = compared.set_index("item")
    assert len(table) == 58 and table.index[table["verdict"] == DIFFERS].tolist() == ["virology"]
    # The standard error of the average is computed from the subjects' errors and differs from the printed 0.0339.
    stderr = table["published_stderr"]
    assert stderr["macro"] == pytest.approx(np.linalg.norm(stderr.drop("macro")) / 57)
    absent = compare({})
    assert set(absent["verdict"]) == {NOT_COMPARABLE}
    assert set(absent["because"]) == {NOT_MEASURED}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, {INCONCLUSIVE}),
        ({"micro": 0.9}, {DIFFERS, INCONCLUSIVE}),
        ({"n": 342}, {NOT_COMPARABLE}),
    ],
)
def test_prompt_runs_need_same_questions(change, expected):
    published = pd.read_csv(PUBLISHED / "prompt_runs.csv", dtype={"run": str})
    runs = {str(run): f"run{run}" for run in range(1, 8)} | {"4": "run4_first285"}
    scores = published.pivot(index="run", columns="metric", values="percent").astype(float) / 100
    own = scores.fillna({"macro": 0.4}).reset_index()
    own["n"] = own["run"].map({"4": 285}).fillna(14_042).astype("Int64")
    own = own.assign(run=own["run"].map(runs), model=LLAMA, variant="", **change)
    own = own.assign(micro_stderr=0.004, macro_stderr=0.004)
    table = judge(compare_prompts(read("prompt_runs"), own, LLAMA, runs))
    assert set(table["verdict"]) == expected


# --- The train-before-test grid


@cache
def estimate():
    models = list_model_rows(load({}), "huggingface")
    return estimate_published_noise(read("harmony_leaderboard"), read("harmony_cells"), models)


def make_leaderboard(protocol: str, scores: pd.DataFrame) -> pd.DataFrame:
    table = scores.join(pd.DataFrame(0.01, scores.index, [f"{task}_stderr" for task in scores]))
    return table.reset_index().assign(protocol=protocol, origin="own", variant=None)


def read_panel_scores() -> pd.DataFrame:
    panel = read("harmony_leaderboard").set_index("model")
    return panel.drop(columns=list(LEADING_COLUMNS[1:])) / 100


def test_differing_cells():
    own, panel = make_leaderboard(CLIPPED, read_panel_scores()), read("harmony_leaderboard")
    own.loc[0, "cola"] += 0.1
    table = judge(compare_harmony(panel, own, estimate()))
    assert len(table) == 61 * 24
    differing = table[table["verdict"] == DIFFERS]
    assert differing[["of", "item"]].to_numpy().tolist() == [[own.loc[0, "model"], "cola"]]
    rows = compare_harmony(panel, own.assign(origin="harmony_leaderboard"), estimate())
    assert set(judge(rows)["because"]) == {NOT_MEASURED}


@pytest.mark.parametrize(("shift", "expected"), [(0.001, INCONCLUSIVE), (0.003, DIFFERS)])
def test_zero_shot_repeat_error(shift, expected):
    cells = read("harmony_cells").query("protocol == @DIRECT")
    scores = (
        cells.pivot(index="model", columns="task", values="value")[list(TEST_ITEMS)][:6] + shift
    )
    published = read("harmony_cells").query("model in @scores.index and task == 'sciq'")
    own = make_leaderboard(DIRECT, scores)
    table = judge(compare_cells(published, own, estimate()))
    is_direct = table["metric"] == DIRECT
    assert set(table.loc[~is_direct, "because"]) == {NOT_MEASURED}
    assert set(table.loc[is_direct, "verdict"]) == {expected}
