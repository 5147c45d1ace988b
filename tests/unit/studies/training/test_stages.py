"""What training is worth, in a table and in sentences: each number in its place, and dashes for the rest."""

import pandas as pd
import pytest

from tests.records import record_fields
from tests.unit.stories import story
from workflow_scripts.core.training_record import TrainingRecord, TrainingSpeed, TrainingStep
from workflow_scripts.scores.tidy import COLUMNS
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.studies.chunking.chapter import CHUNKING
from workflow_scripts.studies.training.curves import write_curves_figure
from workflow_scripts.studies.training.numbers import training_numbers
from workflow_scripts.studies.training.requests import ComparedCheckpoints
from workflow_scripts.studies.training.stages import TABLE, stages_table
from workflow_scripts.training.requests import StageRequest

MODEL = "org/net"
NAMES = (MODEL, f"{MODEL}@k2m6", f"{MODEL}@k2m6+cpt")
ASKED = ComparedCheckpoints(checkpoints=NAMES, texts=("magpie (easy)", "wikitext"))


def trained() -> TrainingRecord:
    fields = record_fields(model=NAMES[2])
    base = fields["model"].model_copy(update={"id": NAMES[1]})
    asked = StageRequest(
        id=NAMES[2],
        recipe="mine",
        keys=TrainingKeys(),
        validation=0.1,
        seed=0,
        device="cpu",
        attention="auto",
        threads=1,
    )
    return TrainingRecord(
        base=base,
        trained=fields["model"].model_copy(update={"stages": ("cpt",)}),
        request=asked.as_params(),
        data={},
        report={"trained_parameters": 1200},
        facts={"steps": 20, "tokens": 4000},
        selected={"step": 10},
        curve=tuple(
            TrainingStep(step=step, epoch=step / 20, loss=loss, held_out={"loss": loss + 0.1})
            for step, loss in ((10, 2.0), (20, 2.5))
        ),
        provenance=fields["provenance"],
        volatile=fields["volatile"],
        speed=TrainingSpeed(
            went_on_from_step=0, step_seconds=1.0, tokens_per_second=None, model_flop_use=None
        ),
    )


def scores(wikitext=(20.0, 40.0, 30.0), magpie=(2.0, 4.0, 3.0)) -> pd.DataFrame:
    rows = [
        dict.fromkeys(COLUMNS)
        | {"study": "training", "model": MODEL, "variant": name.removeprefix(MODEL)}
        | {"task": task, "difficulty": difficulty, "plan": "k0m0", "metric": "perplexity"}
        | {"protocol": "perplexity", "value": value, "stderr": value / 100, "n": 5}
        for task, difficulty, values in (("wikitext", None, wikitext), ("magpie", "easy", magpie))
        for name, value in zip(NAMES, values, strict=True)
        if value is not None
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def written(table: pd.DataFrame, folder) -> str:
    files = {kind: folder / f"t.{kind}" for kind in ("csv", "md", "tex")}
    TABLE.write(table, ASKED, **files)
    pd.testing.assert_frame_equal(TABLE.read(files["csv"]), table)
    return files["md"].read_text()


def told(table: pd.DataFrame) -> str:
    return story(CHUNKING, training_numbers(table))


def test_perplexity_before_and_after_stands_beside_what_was_trained(tmp_path):
    table = stages_table(scores(), [trained()], ASKED)
    assert list(table["stage"]) == ["untrained", "untrained", "cpt"]
    last = table.iloc[2]
    assert (last["recipe"], last["steps"], last["tokens"]) == ("mine", 20, 4000)
    assert last["held_out_loss"] == pytest.approx(2.1), "of the state that was kept"
    assert list(table["magpie (easy)"]) == [2, 4, 3]
    assert list(table.columns[-2:]) == ["wikitext", "wikitext stderr"]
    text = written(table, tmp_path)
    assert "| 30 ± 0.30" in text and "1,200" in text


@pytest.mark.parametrize(
    ("wikitext", "expected"),
    [
        ((20.0, 40.0, 30.0), "above that of"),
        ((30.0, 40.0, 20.0), "below that of"),
        ((30.0, 40.0, 30.1), "within its errors of"),
        ((None, 40.0, 30.0), "from 40 to 30."),
    ],
)
def test_the_best_trained_checkpoint_is_set_beside_the_whole_model(wikitext, expected):
    assert expected in told(stages_table(scores(wikitext), [trained()], ASKED))


def test_a_model_trained_as_it_is_has_a_row_and_is_not_among_the_chunks():
    names = (*NAMES, f"{MODEL}+tuned")
    better = scores((30.0, 40.0, 20.0), (2.0, 4.0, 3.0))
    tuned = better[better["variant"] == ""].assign(variant="+tuned", value=10.0)
    asked = ASKED.model_copy(update={"checkpoints": names})
    table = stages_table(pd.concat([better, tuned]), [trained()], asked)
    assert table["stage"].tolist()[-1] == "tuned" and table["wikitext"].tolist()[-1] == 10
    assert f"{NAMES[2]} reads wikitext best" in told(table)


@pytest.mark.parametrize("wikitext", [(20.0, None, 30.0), (20.0, 40.0, None), (None, None, None)])
def test_a_broken_cell_has_a_dash_and_the_others_their_numbers(wikitext, tmp_path):
    table = stages_table(scores(wikitext), [trained()], ASKED)
    missing = [value is None for value in wikitext]
    assert list(table["wikitext"].isna()) == missing
    assert table["magpie (easy)"].notna().all()
    lines = written(table, tmp_path).splitlines()[-3:]
    assert [line.rstrip(" |").endswith("—") for line in lines] == missing
    assert told(table) == ""


def test_the_curves_are_drawn(tmp_path):
    write_curves_figure([trained()], tmp_path / "f.pdf", tmp_path / "f.png")
    assert (tmp_path / "f.png").stat().st_size > 5000
