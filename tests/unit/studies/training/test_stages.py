"""What training is worth, in a table and in sentences: each number in its place, and dashes for the rest."""

import pandas as pd
import pytest

from tests.records import make_scores
from tests.training_records import training_record
from workflow_scripts.core.training_record import write_training_record
from workflow_scripts.studies.training.curves import plot_curves
from workflow_scripts.studies.training.stages import compute_stages, main

MODEL = "org/net"
NAMES = (MODEL, f"{MODEL}@k2m6", f"{MODEL}@k2m6+cpt")
TRAINED = training_record(base=NAMES[1], trained=NAMES[2])
TEXTS = ("magpie (easy)", "wikitext")


def scores(wikitext=(20.0, 40.0, 30.0), magpie=(2.0, 4.0, 3.0)) -> pd.DataFrame:
    rows = [
        {"study": "training", "model": MODEL, "variant": name.removeprefix(MODEL)}
        | {"task": task, "difficulty": difficulty, "plan": "k0m0", "metric": "perplexity"}
        | {"protocol": "perplexity", "value": value, "stderr": value / 100, "n": 5}
        for task, difficulty, values in (("wikitext", None, wikitext), ("magpie", "easy", magpie))
        for name, value in zip(NAMES, values, strict=True)
        if value is not None
    ]
    return make_scores(rows)


def compute(scores: pd.DataFrame, checkpoints=NAMES) -> pd.DataFrame:
    return compute_stages(scores, [TRAINED], checkpoints, TEXTS)


def write(scores: pd.DataFrame, folder) -> str:
    """Run the script; return the Markdown table."""
    scores.to_parquet(folder / "scores.parquet")
    write_training_record(folder / "record.json", **dict(TRAINED))
    files = [folder / f"t.{kind}" for kind in ("csv", "md", "tex")]
    main(folder / "scores.parquet", [folder / "record.json"], files, NAMES, TEXTS)
    return files[1].read_text(encoding="utf-8")


def test_perplexity_before_and_after_stands_beside_what_was_trained(tmp_path):
    table = compute(scores())
    assert list(table["stage"]) == ["untrained", "untrained", "cpt"]
    last = table.iloc[2]
    assert (last["recipe"], last["steps"], last["tokens"]) == ("mine", 20, 4000)
    assert last["held_out_loss"] == pytest.approx(2.1), "of the state that was kept"
    assert list(table["magpie (easy)"]) == [2, 4, 3]
    assert list(table.columns[-2:]) == ["wikitext", "wikitext stderr"]
    text = write(scores(), tmp_path)
    assert "| 30 ± 0.30" in text and "1,200" in text


@pytest.mark.parametrize("wikitext", [(20.0, None, 30.0), (20.0, 40.0, None), (None, None, None)])
def test_a_broken_cell_has_a_dash_and_the_others_their_numbers(wikitext, tmp_path):
    table = compute(scores(wikitext))
    missing = [value is None for value in wikitext]
    assert list(table["wikitext"].isna()) == missing
    assert table["magpie (easy)"].notna().all()
    lines = write(scores(wikitext), tmp_path).splitlines()[-3:]
    assert [line.rstrip(" |").endswith("—") for line in lines] == missing


def test_the_curves_are_drawn(tmp_path):
    plot_curves([TRAINED], tmp_path / "f.pdf", tmp_path / "f.png")
    assert (tmp_path / "f.png").stat().st_size > 5000
