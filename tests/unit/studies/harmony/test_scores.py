"""The first table and figure: right numbers, missing cells left empty, the same bytes each time."""

import pandas as pd
import pytest

from tests.records import collected, write_example
from tests.unit.studies.harmony.harmony_study import MODEL_ROWS
from workflow_scripts.core.errors import UserError
from workflow_scripts.scores.imported import read_imported
from workflow_scripts.studies.harmony.scores import (
    TABLE,
    harmony_scores,
    write_scores_figure,
)
from workflow_scripts.studies.ranking.requests import ModelsRequest, RankedTask, ScoresRequest

ASKED = ScoresRequest(
    parameters={"miniature/Llama-1.4M": 3_000_000, "miniature/Pythia-0.1M": 100_000},
    tasks=(
        RankedTask(task="sst2", display_name="SST-2", category="Language", metric="acc"),
        RankedTask(task="arc_easy", display_name="ARC & Easy_1", category="Science", metric="acc"),
    ),
    metrics={"sst2": "acc", "arc_easy": "acc"},
)
MODELS = ModelsRequest(models=MODEL_ROWS)


def write(table, csv, md, tex):
    TABLE.write(table, ASKED, csv=csv, md=md, tex=tex)


@pytest.fixture
def table(tmp_path):
    write_example(tmp_path / "a.json", model="miniature/Llama-1.4M", task="sst2", value=0.8)
    write_example(tmp_path / "b.json", model="miniature/Pythia-0.1M", task="sst2", value=0.45)
    write_example(
        tmp_path / "c.json", model="miniature/Llama-1.4M", task="arc_easy", value=0.1234567
    )
    scores = collected([tmp_path / f"{name}.json" for name in "abc"])
    return harmony_scores(scores, ASKED)


def test_rows_follow_the_config_and_a_missing_cell_stays_missing(table):
    assert table["task"].tolist() == ["SST-2", "SST-2", "ARC & Easy_1", "ARC & Easy_1"]
    assert table["value"].tolist()[:3] == [0.8, 0.45, 0.1234567]
    assert table.iloc[3][["value", "stderr", "n", "floor", "z"]].isna().all()


def test_the_distance_to_the_floor_is_in_standard_errors(table):
    # Of a model that is at the floor: half of its answers are right, on four items.
    assert table["z"].iloc[0] == pytest.approx((0.8 - 0.5) / 0.25)
    assert table["z"].iloc[1] == pytest.approx((0.45 - 0.5) / 0.25)


def test_all_and_none_right_have_an_error_and_two_scores_of_one_cell_are_refused(table, tmp_path):
    write_example(tmp_path / "p.json", task="sst2", value=1.0, stderr=0.0)
    perfect = collected([tmp_path / "p.json"])
    csv, md, tex = (tmp_path / f"t.{kind}" for kind in ("csv", "md", "tex"))
    write(harmony_scores(perfect, ASKED), csv, md, tex)
    row = next(line for line in md.read_text().splitlines() if "1.000 ± 0.125" in line)
    assert "+2.0" in row, "all of four items right are two errors of a model that is at the floor"
    write_example(tmp_path / "z.json", task="sst2", value=0.0, stderr=0.0)
    write(harmony_scores(collected([tmp_path / "z.json"]), ASKED), csv, md, tex)
    assert "0.000 ± 0.125" in md.read_text()
    assert "−2.0" in md.read_text()
    write_example(tmp_path / "q.json", task="sst2", value=0.9, seed=1)
    with pytest.raises(UserError, match=r"2 scores of miniature/Llama-1\.4M on sst2"):
        harmony_scores(collected([tmp_path / "p.json", tmp_path / "q.json"]), ASKED)


def test_csv_is_exact_markdown_readable_and_latex_escaped(table, tmp_path):
    csv, md, tex = (tmp_path / f"t.{kind}" for kind in ("csv", "md", "tex"))
    write(table, csv, md, tex)
    assert pd.read_csv(csv)["value"].iloc[2] == 0.1234567
    lines = md.read_text().splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len({len(row) for row in rows}) == 1, "columns line up for the reader of the raw text"
    assert "0.800 ± 0.100" in rows[2]
    assert rows[5].count("—") == 5, "an absent score is a dash, never a zero"
    assert r"ARC \& Easy\_1" in tex.read_text()
    assert r"\toprule" in tex.read_text()


def test_imported_scores_stand_beside_ours_and_are_no_cells_of_ours_to_miss(table, tmp_path):
    path = tmp_path / "theirs.csv"
    path.write_text(
        "model,task,protocol,metric,value\nminiature/Llama-1.4M,sst2,direct,acc,0.9\n"
        "else/where,sst2,direct,acc,0.7\nelse/where,sst2,train_before_test,acc,0.8\n"
    )
    write_example(tmp_path / "a.json", model="miniature/Llama-1.4M", task="sst2", value=0.8)
    theirs = read_imported(path, {"sst2": "acc"})
    found = harmony_scores(collected([tmp_path / "a.json"]), ASKED, [theirs])
    sst2 = found[found["task"] == "SST-2"]
    assert sst2["origin"].tolist() == ["own", "own", "theirs", "theirs"]
    assert sst2["value"].dropna().tolist() == [0.8, 0.9, 0.7]
    assert set(found.loc[found["task"] != "SST-2", "origin"]) == {"own"}
    csv, md, tex = (tmp_path / f"t.{kind}" for kind in ("csv", "md", "tex"))
    write(found, csv, md, tex)
    assert "| theirs" in md.read_text()
    write_scores_figure(TABLE.read(csv), MODELS, tmp_path / "f.pdf", tmp_path / "f.png")
    assert (tmp_path / "f.png").stat().st_size > 5000
    write(table, csv, md, tex)
    assert "| Origin" not in md.read_text(), "all are ours: nothing to tell apart"


def test_the_figure_has_the_same_bytes_each_time(table, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        files = (tmp_path / folder / f"f.{kind}" for kind in ("pdf", "png"))
        write_scores_figure(table, MODELS, *files)
    for name in ("f.pdf", "f.png"):
        one, other = ((tmp_path / folder / name).read_bytes() for folder in ("a", "b"))
        assert one == other
        assert len(one) > 5000
