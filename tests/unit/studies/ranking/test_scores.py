"""Check the table of direct scores: right numbers, missing cells left empty, imported scores beside ours."""

import pandas as pd
import pytest

from tests.records import collected, write_example
from tests.unit.studies.harmony.harmony_study import ABOUT
from workflow_scripts.scores.imported import read_imported
from workflow_scripts.studies.ranking.grid_settings import RankedTask
from workflow_scripts.studies.ranking.scores import compute_scores

TASKS = (
    RankedTask(task="sst2", display_name="SST-2", category="Language", metric="acc"),
    RankedTask(task="arc_easy", display_name="ARC-Easy", category="Science", metric="acc"),
)
MODELS = ["miniature/Llama-1.4M", "miniature/Pythia-0.1M"]


def test_rows_follow_the_config(tmp_path):
    cells = [(MODELS[0], "sst2", 0.8), (MODELS[1], "sst2", 0.45), (MODELS[0], "arc_easy", 0.1234)]
    paths = [tmp_path / f"{model[-4:]}-{task}.json" for model, task, _ in cells]
    for path, (model, task, value) in zip(paths, cells, strict=True):
        write_example(path, model=model, task=task, value=value)
    (tmp_path / "theirs.csv").write_text(
        "model,task,protocol,metric,value\nminiature/Llama-1.4M,sst2,direct,acc,0.9\n"
        "else/where,sst2,direct,acc,0.7\nelse/where,sst2,train_before_test,acc,0.8\n"
    )
    theirs = read_imported(tmp_path / "theirs.csv", {"sst2": "acc"})
    scores = pd.concat([collected(paths), theirs], ignore_index=True)
    table = compute_scores(scores, TASKS, MODELS, ABOUT)
    assert table["task"].tolist() == ["SST-2"] * 4 + ["ARC-Easy"] * 2
    assert table["origin"].tolist() == ["own", "own", "theirs", "theirs", "own", "own"]
    assert table["value"].tolist()[:5] == [0.8, 0.45, 0.9, 0.7, 0.1234]
    assert table.iloc[5][["value", "stderr", "n", "floor", "z"]].isna().all()
    assert table["parameters"].tolist()[4:] == ABOUT.loc[MODELS, "parameters"].tolist()
    # In errors of a model that is at the floor: half of its answers are right, on four items.
    assert table["z"].iloc[:2].tolist() == pytest.approx([0.3 / 0.25, -0.05 / 0.25])
