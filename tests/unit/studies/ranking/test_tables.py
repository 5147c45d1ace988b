"""Test the tables of the ranking study: correct numbers in the right columns, and no filled cells."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import kendalltau

from tests.records import collect, make_scores, write_example
from tests.unit.studies.harmony.harmony_study import (
    BOTH,
    LEADERBOARD,
    METRICS,
    MODEL_TABLE,
    MODELS,
    SETTINGS,
    build_grids,
    drop_cell,
    make_score,
    make_study,
)
from workflow_scripts.scores.imported import read_imported
from workflow_scripts.scores.panel import read_panel_scores
from workflow_scripts.studies.ranking.agreement import compute_agreement
from workflow_scripts.studies.ranking.grid_tables import OVERALL
from workflow_scripts.studies.ranking.panel import place_models
from workflow_scripts.studies.ranking.scores import compare_answers, compute_scores
from workflow_scripts.studies.ranking.significance import compute_significance


def compute_mean_tau(values):
    pairs = (values[list(pair)].dropna().to_numpy().T for pair in combinations(values, 2))
    return np.mean([kendalltau(*pair).statistic for pair in pairs])


def test_agreement_matches_scipy():
    grids = build_grids(drop_cell(make_study(), MODELS[1], "mnli", "train_before_test"))
    table, _ = compute_agreement(grids, SETTINGS, 30, 0)
    value = table.set_index(["protocol", "statistic"])["value"]
    direct, trained = (grids[protocol].scores for protocol in BOTH)
    assert value["direct", "mean"].item() == pytest.approx(compute_mean_tau(direct))
    difference = compute_mean_tau(trained) - compute_mean_tau(direct.where(trained.notna()))
    assert value["train_before_test", "difference_from_direct"].item() == pytest.approx(difference)
    assert ("direct", "difference_from_direct") not in value.index


def test_differences_are_paired_by_item(tmp_path):
    """Compare the standard error of a difference with the paired one over items."""
    golds = [
        tuple("01"[(5 * item + model * item) % (3 + model) == 0] for item in range(30))
        for model in (0, 1)
    ]
    right = np.array([[gold == "0" for gold in answers] for answers in golds], dtype=float)
    records = []
    for model, answers, value in zip(MODELS, golds, right.mean(axis=1), strict=False):
        path = tmp_path / f"{len(records)}.json"
        write_example(path, model=model, task="rte", golds=answers, value=float(value))
        records.append(path)
    scores, errors = collect(records)
    errors = errors.assign(label=MODELS[:2])
    cells = {"protocols": ("direct",), "models": MODELS[:2], "tasks": ["rte"]}
    table = compute_significance(build_grids(scores, **cells, measured=errors)).set_index("task")
    differences = right[0] - right[1]
    assert table["stderr"][OVERALL] == table["stderr"]["rte"]
    assert table["stderr"]["rte"] == pytest.approx(differences.std(ddof=1) / 30**0.5, rel=0.02)
    assert abs(table["difference"]["rte"]) == pytest.approx(abs(differences.mean()))


def test_panel_model_keeps_its_rank():
    panel = read_panel_scores(LEADERBOARD, METRICS)
    name = "google/gemma-2-2b"
    retrained = make_scores(
        make_score(name, task, "train_before_test", float(value) + 1e-3)
        for task, value in panel.loc[name].items()
    )
    placed = place_models(build_grids(retrained, protocols=()), panel, MODEL_TABLE["family"])
    (row,) = placed.to_dict("records")
    assert row["low"] < 175.76 < row["high"]
    assert abs(row["rank"] - 31) <= 1


def test_scores_without_zero_shot():
    imported = read_imported(LEADERBOARD, METRICS)
    arguments = SETTINGS, list(METRICS), [], MODEL_TABLE, compare_answers([])
    assert compute_scores(imported, *arguments).empty
