"""The matrices behind every table: nothing filled, nothing mixed, what is missing named."""

import numpy as np
import pandas as pd
import pytest

from tests.records import make_scores
from tests.unit.studies.harmony.harmony_study import (
    LEADERBOARD,
    METRICS,
    MODELS,
    TASKS,
    grids,
    score,
    study,
    without,
)
from workflow_scripts.core.errors import UserError
from workflow_scripts.scores.imported import read_imported
from workflow_scripts.studies.ranking.frame import FLOORED
from workflow_scripts.studies.ranking.grid import read_grids, write_grids


def test_rows_and_columns_follow_the_config_and_each_score_is_in_its_cell():
    scores = study()
    grid = grids(scores)["direct"]
    assert list(grid.values.index) == MODELS
    assert list(grid.values) == TASKS
    assert not grid.absent.any(axis=None)
    row = scores.iloc[7]
    assert grid.values.loc[row["model"] + row["variant"], row["task"]] == row["value"]
    assert grid.stderrs.loc[row["model"] + row["variant"], row["task"]] == row["stderr"]
    chunked = grid.models.loc["miniature/Qwen2-1M-Instruct@k2m12"]
    assert (chunked["variant"], chunked["family"], chunked["origin"]) == ("@k2m12", "Qwen", "own")


def test_a_missing_cell_is_named_and_stays_missing():
    scores = without(study(), MODELS[2], "rte", "direct")
    grid = grids(scores)["direct"]
    assert grid.absent.stack()[lambda one: one].index.tolist() == [(MODELS[2], "rte")]
    assert np.isnan(grid.values.loc[MODELS[2], "rte"])
    assert grid.completed.errors.scores.notna().all(axis=None), "for ranks it is estimated"
    assert grid.completed.filled.stack().sum() == 1


def test_floored_is_the_better_score_where_both_are_known():
    rows = [
        score("miniature/Llama-1.4M", "rte", "direct", 0.7, stderr=0.01),
        score("miniature/Llama-1.4M", "rte", "train_before_test", 0.6, stderr=0.02),
        score("miniature/Llama-1.4M", "mnli", "direct", 0.4, stderr=0.01),
        score("miniature/Llama-1.4M", "mnli", "train_before_test", 0.8, stderr=0.02),
        score("miniature/Llama-1.4M", "cola", "train_before_test", 0.5),
        score("miniature/Llama-0.3M", "rte", "train_before_test", 0.5),
    ]
    found = grids(make_scores(rows), models=MODELS[4:], tasks=["rte", "mnli", "cola"])
    floored = found[FLOORED]
    assert floored.values.loc["miniature/Llama-1.4M"].tolist() == [0.7, 0.8]
    assert floored.stderrs.loc["miniature/Llama-1.4M"].tolist() == [0.01, 0.02]
    assert list(floored.values) == ["rte", "mnli"], "no direct score on cola: nothing to floor at"
    assert floored.values.loc["miniature/Llama-0.3M"].isna().all()
    assert found["train_before_test"].values.loc["miniature/Llama-1.4M", "rte"] == 0.6, "raw"
    assert FLOORED not in grids(make_scores(rows[4:]))


def test_imported_scores_stand_beside_ours_under_their_files_name(tmp_path):
    panel = read_imported(LEADERBOARD, METRICS)
    found = grids(study(), [panel])
    grid = found["train_before_test"]
    assert grid.values.shape == (len(MODELS) + 61, 24)
    assert list(grid.values)[: len(TASKS)] == TASKS
    label = "Qwen/Qwen2.5-14B [harmony_leaderboard]"
    assert grid.models.loc[label, "origin"] == "harmony_leaderboard"
    assert grid.models.loc[label, "family"] == "Qwen"
    assert grid.values.loc[label, "mnli"] == pytest.approx(0.9034)
    expected = np.sqrt(0.9034 * 0.0966 / 9815)
    assert grid.stderrs.loc[label, "mnli"] == pytest.approx(expected), "from n, which is known"
    assert not grid.absent.any(axis=None), "what the config does not ask for is not missing"
    assert found["direct"].values.shape == (len(MODELS), len(TASKS))
    assert set(found[FLOORED].models["origin"]) == {"own"}


def test_the_same_model_of_ours_and_of_others_is_two_rows(tmp_path):
    path = tmp_path / "theirs.csv"
    path.write_text(
        "model,task,protocol,metric,value\nminiature/Llama-1.4M,rte,direct,acc,0.9\n"
        "unheard/of,rte,direct,acc,0.8\n"
    )
    grid = grids(study(), [read_imported(path, METRICS)])["direct"]
    assert grid.values.loc["miniature/Llama-1.4M [theirs]", "rte"] == 0.9
    assert grid.values.loc["miniature/Llama-1.4M", "rte"] != 0.9
    assert pd.isna(grid.models.loc["unheard/of [theirs]", "parameters"])
    assert pd.isna(grid.stderrs.loc["unheard/of [theirs]", "rte"])


def test_seeds_become_their_mean_and_their_spread_joins_the_error():
    rows = [
        score("miniature/Llama-1.4M", "rte", "direct", value, stderr=0.03, seed=seed)
        for seed, value in enumerate((0.5, 0.6, 0.7))
    ]
    grid = grids(make_scores(rows), protocols=("direct",))["direct"]
    assert grid.values.loc["miniature/Llama-1.4M", "rte"] == pytest.approx(0.6)
    expected = np.sqrt(0.03**2 + 0.1**2 / 3)
    assert grid.stderrs.loc["miniature/Llama-1.4M", "rte"] == pytest.approx(expected)
    with pytest.raises(UserError, match=r"several scores of miniature/Llama-1\.4M on rte, direct"):
        grids(make_scores([*rows, rows[0] | {"shots": 5}]))


def test_a_grid_is_read_as_it_was_written(tmp_path):
    scores = without(study(), MODELS[2], "rte", "direct")
    written = grids(scores, [read_imported(LEADERBOARD, METRICS)])
    files = tmp_path / "cells.parquet", tmp_path / "models.parquet"
    write_grids(written, *files)
    again = read_grids(*files)
    assert list(again) == list(written)
    for protocol, grid in written.items():
        found = again[protocol]
        pd.testing.assert_frame_equal(found.values, grid.values, check_names=False)
        pd.testing.assert_frame_equal(found.stderrs, grid.stderrs, check_names=False)
        pd.testing.assert_frame_equal(found.absent, grid.absent, check_names=False)
        pd.testing.assert_frame_equal(found.models, grid.models, check_dtype=False)
        assert found.errors.stream == grid.errors.stream
