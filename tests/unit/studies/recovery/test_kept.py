"""What is kept of a model's quality, from answers and times written by hand."""

import numpy as np
import pandas as pd
import pytest
import yaml

from tests.records import record_fields
from tests.unit.settings.merged import ROOT, merged
from tests.written import written
from workflow_scripts.core.items import Item
from workflow_scripts.core.records import Metric, write_record
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.settings.load import load_settings
from workflow_scripts.studies.recovery import kept_figure
from workflow_scripts.studies.recovery.kept import AS_IT_IS, CHUNKS, LEFT_OUT, TABLE, kept_table
from workflow_scripts.studies.recovery.kept_figure import write_kept_figure
from workflow_scripts.studies.recovery.requests import (
    RecoveredCheckpoints,
    recovered_checkpoints,
)

MODEL = "org/name"
CUT = f"{MODEL}@k2m6-residual-noadapters-distil.logits"
BOTH = f"{MODEL}@k2m6-residual-noadapters-distil.both.t3"
DROPPED = f"{MODEL}@prune3-4-distil.logits"
ASKED = RecoveredCheckpoints(
    checkpoints=[
        MODEL,
        CUT,
        f"{CUT}+recovery.2k",
        DROPPED,
        f"{DROPPED}+recovery.2k",
        f"{BOTH}+recovery.2k",
    ],
    measures=["wikitext", "arc_easy"],
)
COLUMNS = ("plan", "aggregation", "way", "token_seconds", "token_faster")
TIMES = pd.DataFrame(
    [
        ("k2m6", "residual", "unchanged", 0.10, 1.0),
        ("k2m6", "residual", "fused", 0.05, 2.0),
        ("k2m6", "residual", "loop", 0.08, 1.25),
        ("k2m6", "mlp.residual", "fused", 0.01, 10.0),  # of another form of the same layers
        ("prune3-4", None, "unchanged", 0.10, 1.0),
        ("prune3-4", None, "loop", 0.08, 1.25),
    ],
    columns=COLUMNS,
).assign(model=MODEL, adapters=None, batch=1, devices=1, token_seconds_spread=0.001)


class Trained:
    """A training record, as far as the table reads it."""

    def __init__(self, id: str, tokens: int):
        self.trained, self.facts = type("Facts", (), {"id": id}), {"tokens": tokens}


def answers_of(checkpoints, seed=3):
    generator, found = np.random.default_rng(seed), {}
    for at, id in enumerate(checkpoints):
        nats = generator.normal(300 + 20 * at, 5, 12)
        names = [f"wikitext/{piece}" for piece in range(12)]
        found[id, "wikitext"] = pd.DataFrame({"nats": nats, "tokens": 100.0}, names)
        right = generator.random(80) < 0.6 - 0.1 * at
        found[id, "arc_easy"] = pd.Series(right, [f"q/{item}" for item in range(80)])
    return found


def table_of(answers):
    trained = [Trained(f"{one}+recovery.2k", 2048) for one in (CUT, DROPPED, BOTH)]
    return kept_table(ASKED, answers, {(MODEL, "arc_easy"): {"floor": 0.25}}, trained, TIMES)


def test_ratios_are_of_the_same_pieces_and_speeds_of_the_faster_way(tmp_path):
    answers = answers_of(ASKED.checkpoints)
    table = table_of(answers)
    by = table.set_index([table["model"] + table["variant"], "measure"])
    for id in ASKED.checkpoints:
        ours, theirs = (answers[one, "wikitext"]["nats"].sum() / 1200 for one in (id, MODEL))
        assert by.loc[(id, "wikitext"), "kept"] == pytest.approx(np.exp(theirs - ours))
        assert by.loc[(id, "wikitext"), "value"] == pytest.approx(np.exp(ours))
        shares = [answers[one, "arc_easy"].mean() for one in (id, MODEL)]
        assert by.loc[(id, "arc_easy"), "kept"] == pytest.approx(shares[0] / shares[1])
    assert by.loc[(MODEL, "wikitext"), "kept_stderr"] == 0
    assert by.loc[(CUT, "wikitext"), "kept_stderr"] > 0
    of = table[table["measure"] == "wikitext"]
    assert list(of["kind"]) == [AS_IT_IS, CHUNKS, CHUNKS, LEFT_OUT, LEFT_OUT, CHUNKS]
    assert list(of["faster"]) == [1, 2, 2, 1.25, 1.25, 2]
    assert list(of["tokens"]) == [0, 0, 2048, 0, 2048, 2048]
    assert list(of["learns_from"].fillna("")) == ["", "", "logits", "", "logits", "both.t3"]
    TABLE.write(table, ASKED, **{kind: tmp_path / f"t.{kind}" for kind in ("csv", "md", "tex")})
    pd.testing.assert_frame_equal(TABLE.read(tmp_path / "t.csv"), table)
    write_kept_figure(table, tmp_path / "f.pdf", tmp_path / "f.png")
    assert (tmp_path / "f.png").stat().st_size > 10_000


@pytest.mark.parametrize("broken", [[CUT], [MODEL], list(ASKED.checkpoints)])
def test_what_is_broken_costs_its_own_line(broken, tmp_path):
    whole = [id for id in ASKED.checkpoints if id not in broken]
    table = table_of(answers_of(whole))
    names = table["model"] + table["variant"]
    assert table["value"].isna().tolist() == names.isin(broken).tolist()
    no_ratio = names.isin(broken) | (MODEL in broken)
    assert table["kept"].isna().tolist() == no_ratio.tolist()
    write_kept_figure(table, tmp_path / "f.pdf", tmp_path / "f.png")


def test_scores_between_right_and_wrong_and_scores_of_all_items_have_their_place():
    """Such as of several right answers, and a correlation, which no item has."""
    answers = answers_of(ASKED.checkpoints)
    for at, id in enumerate(ASKED.checkpoints):
        answers[id, "arc_easy"] = pd.Series([0.3, 0.5, 0.7, 0.9 - 0.1 * at], list("abcd"))
    by = table_of(answers).set_index(["variant", "measure"])
    row = by.loc[(CUT.removeprefix(MODEL), "arc_easy")]
    of = answers[CUT, "arc_easy"]
    assert (row["value"], row["stderr"]) == pytest.approx((of.mean(), of.std() / 2))
    assert row["kept"] == pytest.approx(of.mean() / answers[MODEL, "arc_easy"].mean())
    for id in ASKED.checkpoints:
        del answers[id, "arc_easy"]
    reported = {(CUT, "arc_easy"): {"n": 4, "value": 0.1, "stderr": 0.02, "floor": None}}
    trained = [Trained(f"{one}+recovery.2k", 2048) for one in (CUT, DROPPED, BOTH)]
    table = kept_table(ASKED, answers, reported, trained, TIMES).set_index(["variant", "measure"])
    row = table.loc[(CUT.removeprefix(MODEL), "arc_easy")]
    assert row[["n", "value", "stderr"]].tolist() == [4, 0.1, 0.02] and pd.isna(row["kept"])


def write_answers(folder, id, task, metric, scores, value, stderr):
    """The record of a cell of the grid, whose items have these scores."""
    items = [
        Item(f"{task}/{at}", "0" * 64, None, None, scores=one) for at, one in enumerate(scores)
    ]
    one = {"n": len(items), "best_constant": None, "chance": None}
    about = {"metrics": (Metric(name=metric, value=value, stderr=stderr, **one),)}
    about["request"] = {"tasks": {task: {"metric": metric}}}
    path = folder / f"{task}{id.replace('/', '--')}.json"
    write_record(path, items, **record_fields(model=id, task=task) | about)
    return str(path)


def test_tasks_of_any_metric_are_read_from_their_records(tmp_path, monkeypatch):
    """Shares of probability, a correlation of all items, and a text of which no piece has a score."""
    shares = [{"acc,none": one} for one in (0.3, 0.5, 0.7, 0.9)]
    found = []
    for id, less in ((MODEL, 0.0), (CUT, 0.1)):
        graded = [{"acc,none": one["acc,none"] - less} for one in shares]
        found += [
            write_answers(tmp_path, id, "truthfulqa_mc2", "acc,none", graded, 0.6 - less, 0.13),
            write_answers(
                tmp_path, id, "cola", "mcc,none", [{"acc,none": 1.0}] * 4, 0.4 - less, 0.05
            ),
            write_answers(
                tmp_path, id, "wikitext", "bits_per_byte,none", [{}] * 4, 0.9 + less, None
            ),
        ]
    times = tmp_path / "times.parquet"
    timed = ["protocol", "model", "task", "plan", "metric", "value", "stderr", "n", "precision"]
    varied = ["aggregation", "adapters", "way", "batch", "devices"]
    pd.DataFrame(columns=[*timed, *varied]).to_parquet(times)
    asked = RecoveredCheckpoints(
        checkpoints=[MODEL, CUT], measures=["wikitext", "truthfulqa_mc2", "cola", "wikitext (task)"]
    )
    inputs = Inputs({"records": found, "trained": [], "times": [str(times)]})
    table = TABLE.make(inputs, asked)
    row = table[table["variant"] != ""].set_index("measure")
    assert row.loc["truthfulqa_mc2", ["value", "stderr"]].tolist() == pytest.approx(
        [0.5, 0.1291], 1e-3
    )
    assert row.loc["truthfulqa_mc2", "kept"] == pytest.approx(0.5 / 0.6)
    assert row.loc["cola", ["n", "value", "stderr"]].tolist() == pytest.approx([4, 0.3, 0.05])
    assert row.loc["wikitext (task)", "value"] == pytest.approx(1.0)
    assert row.loc[["cola", "wikitext (task)"], "kept"].isna().all()
    assert row.loc["wikitext", ["value", "kept"]].isna().all()
    lines = written(TABLE, table, tmp_path, asked).md
    assert "0.300 ± 0.050 |" in lines and "0.500 ± 0.129 (0.833 ±" in lines
    drawn = []
    monkeypatch.setattr(kept_figure, "legend_below", lambda fig, axes, _: drawn.append(axes))
    write_kept_figure(table, tmp_path / "f.pdf", tmp_path / "f.png")
    said = {axes.get_title(): len(axes.texts) for axes in drawn[0].figure.axes}
    assert said == {"wikitext": 1, "truthfulqa_mc2": 0, "cola": 1, "wikitext (task)": 1}
    assert drawn[0].get_title() == "truthfulqa_mc2"  # whose legend it is


ADAPTED = f"{MODEL}@k2m6-distil.logits"


def test_two_forms_of_a_plan_are_told_apart_in_the_table_and_in_the_figure(tmp_path, monkeypatch):
    asked = RecoveredCheckpoints(
        checkpoints=[MODEL, CUT, f"{CUT}+recovery.2k", ADAPTED, f"{ADAPTED}+recovery.2k"],
        measures=["wikitext", "arc_easy"],
    )
    of_adapted = TIMES.iloc[:2].assign(aggregation="mlp.residual", adapters="adapters")
    times = pd.concat([TIMES, of_adapted], ignore_index=True)
    trained = [Trained(f"{one}+recovery.2k", 2048) for one in (CUT, ADAPTED)]
    table = kept_table(asked, answers_of(asked.checkpoints), {}, trained, times)
    plans = TABLE.shown(table, asked).rows
    named = ["k2m6-residual-noadapters", "k2m6"]
    assert [line[0] for line in plans[1:]] == [named[0], named[0], named[1], named[1]]
    seen = []
    monkeypatch.setattr(kept_figure, "legend_below", lambda fig, axes, _: seen.append(axes))
    write_kept_figure(table, tmp_path / "f.pdf", tmp_path / "f.png")
    handles, labels = seen[0].get_legend_handles_labels()
    marked = ", residual-noadapters"
    assert labels == [
        *("chunks, untrained", f"chunks, untrained{marked}"),
        *("chunks, 2,048 tokens", f"chunks, 2,048 tokens{marked}"),
    ]
    assert [len(line[0].get_xdata()) for line in handles] == [1, 1, 1, 1]
    assert len({line[0].get_marker() for line in handles}) == 2


def test_two_lengths_that_come_to_the_same_tokens_are_two_lines_with_two_names():
    lengths = [f"{CUT}+recovery.1k", f"{CUT}+recovery.2k"]
    asked = RecoveredCheckpoints(checkpoints=[MODEL, *lengths], measures=["wikitext"])
    trained = [Trained(one, 2048) for one in lengths]
    table = kept_table(asked, answers_of(asked.checkpoints), {}, trained, TIMES)
    names = [line[0] for line in TABLE.shown(table, asked).rows[1:]]
    assert names == [one.removeprefix(f"{MODEL}@") for one in lengths]


def test_an_untrained_plan_is_measured_once_whatever_it_learns_from_later():
    config = yaml.safe_load((ROOT / "config/recovery.yaml").read_text(encoding="utf-8"))
    asked = recovered_checkpoints(load_settings(merged(config), ROOT)).checkpoints
    of = [name.partition("@")[2] for name in asked]
    plan = "k2m6-residual-noadapters-distil."
    assert [name for name in of if name.startswith(plan) and "+" not in name] == [f"{plan}logits"]
    assert {f"{plan}both+recovery.100k", f"{plan}logits+recovery.100k"} <= set(of)


def test_a_task_is_told_from_the_text_of_the_same_name():
    config = yaml.safe_load((ROOT / "config/recovery.yaml").read_text(encoding="utf-8"))
    config["harmony"] = {"models": [], "tasks": ["wikitext", "arc_easy"]}
    measures = recovered_checkpoints(load_settings(merged(config), ROOT)).measures
    assert {"wikitext", "wikitext (task)", "arc_easy"} <= set(measures)
    assert len(measures) == len(set(measures))
