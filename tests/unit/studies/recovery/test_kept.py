"""What is kept of a model's quality, from answers and times written by hand."""

import numpy as np
import pandas as pd
import pytest

from workflow_scripts.studies.recovery.kept import AS_IT_IS, CHUNKS, LEFT_OUT, TABLE, kept_table
from workflow_scripts.studies.recovery.kept_figure import write_kept_figure
from workflow_scripts.studies.recovery.requests import RecoveredCheckpoints

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
