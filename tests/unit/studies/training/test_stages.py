"""Test the table of training stages: each number in its cell, and dashes elsewhere."""

import pandas as pd
import pytest

from tests.records import make_scores
from tests.training_records import make_training_record
from workflow_scripts.studies.training import stages

MODEL = "org/net"
NAMES = (MODEL, f"{MODEL}@k2m6", f"{MODEL}@k2m6+cpt")
RECORD = make_training_record(base=NAMES[1], trained=NAMES[2])
TEXTS = ("magpie (easy)", "wikitext")


def make_stage_scores(wikitext) -> pd.DataFrame:
    rows = [
        {"study": "training", "model": MODEL, "variant": name.removeprefix(MODEL)}
        | {"task": task, "difficulty": difficulty, "plan": "k0m0", "metric": "perplexity"}
        | {"protocol": "perplexity", "value": value, "stderr": value / 100, "n": 5}
        for task, difficulty, values in (
            ("wikitext", None, wikitext),
            ("magpie", "easy", (2.0, 4.0, 3.0)),
        )
        for name, value in zip(NAMES, values, strict=True)
        if value is not None
    ]
    return make_scores(rows)


@pytest.mark.parametrize("wikitext", [(20.0, 40.0, 30.0), (20.0, None, 30.0), (None, None, None)])
def test_stages(wikitext, tmp_path):
    scores = make_stage_scores(wikitext)
    table = stages.compute_stages(scores, [RECORD], NAMES, TEXTS)
    assert list(table["stage"]) == ["untrained", "untrained", "cpt"]
    last = table.iloc[2]
    assert (last["recipe"], last["steps"], last["tokens"]) == ("mine", 20, 4000)
    assert last["held_out_loss"] == pytest.approx(2.1), "of the selected state"
    assert list(table["magpie (easy)"]) == [2, 4, 3]
    missing = [value is None for value in wikitext]
    assert list(table["wikitext"].isna()) == missing
    scores.to_parquet(tmp_path / "scores.parquet")
    RECORD.write(tmp_path / "record.json")
    files = [tmp_path / f"t.{kind}" for kind in ("csv", "md", "tex")]
    figure = [tmp_path / "f.pdf", tmp_path / "f.png"]
    paths = tmp_path / "scores.parquet", [tmp_path / "record.json"], files, figure
    stages.main(*paths, NAMES, TEXTS)
    assert figure[1].stat().st_size > 5000
