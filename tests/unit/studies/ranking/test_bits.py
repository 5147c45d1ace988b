"""Texts of one's own: all scores of a model in one row, what is missing is a dash, and texts beside one another."""

from itertools import combinations

import pytest
from scipy.stats import kendalltau

from tests.unit.studies.harmony.harmony_study import WORDS, frame, request
from tests.written import written
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.studies.ranking import bits, text_pairs
from workflow_scripts.studies.ranking.texts import bits_by_protocol

BITS = {"mine": (2.0, 3.0, 4.0, 5.0), "yours": (2.5, 2.4, 4.5, 4.4), "theirs": (9.0, 8.0, 7.0, 6.0)}


def scores(*protocols):
    models = [("a/b", ""), ("a/b", "@k2m2"), ("c/d", ""), ("e/f", "")]
    rows = [
        {"study": "corpora", "model": model, "variant": variant, "task": text, "n": 7}
        | {"protocol": protocol, "metric": "bits_per_byte", "value": value - 0.5 * after}
        for text, values in BITS.items()
        for (model, variant), value in zip(models, values, strict=True)
        for after, protocol in enumerate(protocols)
    ]
    return frame([*rows, *({**row, "metric": "word_perplexity"} for row in rows)])


def drawn(module, table, folder) -> str:
    """The figure from the table as it is read again, and the table as people read it."""
    found = written(module.TABLE, table, folder, request())
    assert module.TABLE.shown(found.again, request()) == module.TABLE.shown(table, request())
    module.FIGURE.draw(Inputs({"table": found.csv}), WORDS, folder / "f.pdf", folder / "f.png")
    assert (folder / "f.png").stat().st_size > 1000
    return found.md


@pytest.mark.parametrize("protocols", [("direct", "train_before_test"), ("direct",), ()], ids=str)
def test_a_model_has_a_row_for_each_text_and_the_figure_is_drawn(protocols, tmp_path):
    table = bits.bits_table(scores(*protocols), request())
    text = drawn(bits, table, tmp_path)
    mine = table[table["text"] == "mine"]
    if protocols:
        assert mine["model"].tolist() == ["a/b", "a/b@k2m2", "c/d", "e/f"]
        assert mine["direct"].tolist() == [2, 3, 4, 5]
        assert "| train-before-test" in text
    after = mine["train_before_test"].dropna().tolist()
    assert after == ([1.5, 2.5, 3.5, 4.5] if len(protocols) == 2 else [])
    assert text.count("—") == (12 if len(protocols) == 1 else 0)


def test_the_best_after_training_stand_first():
    table = bits.bits_table(scores("direct", "train_before_test"), request())
    assert table.query("text == 'theirs'")["model"].tolist()[0] == "e/f"
    assert table["text"].unique().tolist() == ["mine", "theirs", "yours"]


def test_every_two_texts_are_compared_under_each_protocol(tmp_path):
    of = bits_by_protocol(scores("direct", "train_before_test"), request())
    table = text_pairs.text_pairs(of)
    assert table.groupby("protocol").size().tolist() == [3, 3]
    found = table.query("protocol == 'direct'").set_index(["first", "second"])
    for one, other in combinations(sorted(BITS), 2):
        tau = kendalltau(BITS[one], BITS[other]).statistic
        assert found.at[(one, other), "value"] == pytest.approx(tau)
        assert found.at[(one, other), "models"] == 4
    assert "mine and theirs" in drawn(text_pairs, table, tmp_path)


def test_a_single_text_is_compared_with_none_and_the_figure_says_so(tmp_path):
    alone = scores("direct").query("task == 'mine'")
    table = text_pairs.text_pairs(bits_by_protocol(alone, request()))
    assert table.empty
    drawn(text_pairs, table, tmp_path)
