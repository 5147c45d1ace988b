"""Test the score matrices behind every table: no filled or mixed cells, and missing cells are named."""

import numpy as np
import pytest

from tests.records import make_scores
from tests.unit.studies.harmony.harmony_study import (
    BOTH,
    LEADERBOARD,
    METRICS,
    MODELS,
    TASKS,
    build_grids,
    drop_cell,
    make_score,
    make_study,
)
from workflow_scripts.core.errors import UserError
from workflow_scripts.scores.imported import read_imported
from workflow_scripts.studies.ranking.grid_tables import CLIPPED

LLAMA = "miniature/Llama-1.4M"


def test_missing_cells_stay_missing():
    grid = build_grids(drop_cell(make_study(), MODELS[2], "rte", "direct"))["direct"]
    assert (list(grid.scores.index), list(grid.scores)) == (MODELS, TASKS)
    assert grid.absent.stack().sum() == grid.absent.loc[MODELS[2], "rte"] == 1
    assert np.isnan(grid.scores.loc[MODELS[2], "rte"])
    assert grid.completed.errors.scores.notna().all(axis=None), "for ranks it is estimated"


def test_clipped_takes_the_better_score():
    rows = [
        make_score(LLAMA, task, protocol, value, stderr=stderr)
        for task, *values in (("rte", 0.7, 0.6), ("mnli", 0.4, 0.8))
        for protocol, value, stderr in zip(BOTH, values, (0.01, 0.02), strict=True)
    ]
    rows.append(make_score(LLAMA, "cola", "train_before_test", 0.5))
    by_protocol = build_grids(make_scores(rows), models=[LLAMA], tasks=["rte", "mnli", "cola"])
    clipped = by_protocol[CLIPPED]
    assert list(clipped.scores) == ["rte", "mnli"], "no direct score on cola: nothing to floor at"
    assert clipped.scores.loc[LLAMA].tolist() == [0.7, 0.8]
    assert clipped.stderrs.loc[LLAMA].tolist() == [0.01, 0.02]
    assert by_protocol["train_before_test"].scores.loc[LLAMA, "rte"] == 0.6, "raw"


def test_imported_scores_are_labelled(tmp_path):
    path = tmp_path / "theirs.csv"
    path.write_text(f"model,task,protocol,metric,value\n{LLAMA},rte,direct,acc,0.9\n")
    imported = [read_imported(file, METRICS) for file in (LEADERBOARD, path)]
    grids = build_grids(make_study(), imported)
    trained, direct = grids["train_before_test"], grids["direct"]
    assert trained.scores.shape == (len(MODELS) + 61, 24)
    label = "Qwen/Qwen2.5-14B [harmony_leaderboard]"
    assert trained.models.loc[label, ["origin", "family"]].tolist() == [label[18:-1], "Qwen"]
    expected = np.sqrt(0.9034 * 0.0966 / 9815)
    assert trained.stderrs.loc[label, "mnli"] == pytest.approx(expected), "from n, which is known"
    assert not trained.absent.any(axis=None), "what the config does not ask for is not missing"
    assert direct.scores.loc[f"{LLAMA} [theirs]", "rte"] == 0.9


def test_seeds_are_averaged():
    rows = [
        make_score(LLAMA, "rte", "direct", value, stderr=0.03, seed=seed)
        for seed, value in enumerate((0.5, 0.6, 0.7))
    ]
    grid = build_grids(make_scores(rows), protocols=("direct",))["direct"]
    assert grid.scores.loc[LLAMA, "rte"] == pytest.approx(0.6)
    expected = np.sqrt(0.03**2 + 0.1**2 / 3)
    assert grid.stderrs.loc[LLAMA, "rte"] == pytest.approx(expected)
    with pytest.raises(UserError, match=r"several scores of miniature/Llama-1\.4M on rte"):
        build_grids(make_scores([*rows, rows[0] | {"shots": 5}]))
