"""The table of direct scores: right numbers, missing cells left empty, the same figure each time."""

import pandas as pd
import pytest

from tests.records import collected, write_example
from tests.unit.studies.harmony.harmony_study import MODEL_ROWS
from workflow_scripts.scores.imported import read_imported
from workflow_scripts.studies.ranking.grid_settings import RankedTask
from workflow_scripts.studies.ranking.scores import tabulate_scores

TASKS = (
    RankedTask(task="sst2", display_name="SST-2", category="Language", metric="acc"),
    RankedTask(task="arc_easy", display_name="ARC-Easy", category="Science", metric="acc"),
)
MODELS = ["miniature/Llama-1.4M", "miniature/Pythia-0.1M"]
KNOWN = pd.DataFrame(map(dict, MODEL_ROWS)).set_index("model")
CELLS = [(MODELS[0], "sst2", 0.8), (MODELS[1], "sst2", 0.45), (MODELS[0], "arc_easy", 0.1234567)]


def tabulate(folder, cells=CELLS, theirs=(), **other):
    paths = [folder / f"{at}.json" for at in range(len(cells))]
    for path, (model, task, value) in zip(paths, cells, strict=True):
        write_example(path, model=model, task=task, value=value, **other)
    scores = pd.concat([collected(paths), *theirs], ignore_index=True)
    return tabulate_scores(scores, TASKS, MODELS, KNOWN)


def test_rows_follow_the_config_and_a_missing_cell_stays_missing(tmp_path):
    table = tabulate(tmp_path)
    assert table["task"].tolist() == ["SST-2", "SST-2", "ARC-Easy", "ARC-Easy"]
    assert table["value"].tolist()[:3] == [0.8, 0.45, 0.1234567]
    assert table.iloc[3][["value", "stderr", "n", "floor", "z"]].isna().all()
    assert table["parameters"].tolist() == KNOWN.loc[MODELS * 2, "parameters"].tolist()
    # In errors of a model that is at the floor: half of its answers are right, on four items.
    assert table["z"].iloc[:2].tolist() == pytest.approx([0.3 / 0.25, -0.05 / 0.25])


def test_imported_scores_stand_beside_ours_and_are_no_cells_of_ours_to_miss(tmp_path):
    path = tmp_path / "theirs.csv"
    path.write_text(
        "model,task,protocol,metric,value\nminiature/Llama-1.4M,sst2,direct,acc,0.9\n"
        "else/where,sst2,direct,acc,0.7\nelse/where,sst2,train_before_test,acc,0.8\n"
    )
    theirs = read_imported(path, {"sst2": "acc"})
    found = tabulate(tmp_path, CELLS[:1], [theirs])
    sst2 = found[found["task"] == "SST-2"]
    assert sst2["origin"].tolist() == ["own", "own", "theirs", "theirs"]
    assert sst2["value"].dropna().tolist() == [0.8, 0.9, 0.7]
    assert set(found.loc[found["task"] != "SST-2", "origin"]) == {"own"}
