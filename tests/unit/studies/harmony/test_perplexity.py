"""Texts of one's own: both scores of a model in one row, and what is missing is a dash."""

import pytest

from tests.unit.studies.harmony.harmony_study import frame, written
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.settings.request import Nothing
from workflow_scripts.studies.harmony.perplexity import FIGURE, TABLE, perplexity_table


def scores(*protocols):
    rows = [
        {"study": "corpora", "model": model, "variant": variant, "task": text, "n": 7}
        | {"protocol": protocol, "metric": "bits_per_byte", "value": 2.0 + at - 0.5 * after}
        for at, (model, variant) in enumerate([("a/b", ""), ("a/b", "@k2m2"), ("c/d", "")])
        for text in ("mine", "yours")
        for after, protocol in enumerate(protocols)
    ]
    return frame([*rows, *({**row, "metric": "word_perplexity"} for row in rows)])


@pytest.mark.parametrize("protocols", [("direct", "train_before_test"), ("direct",), ()], ids=str)
def test_a_model_has_a_row_for_each_text_and_the_figure_is_drawn(protocols, tmp_path):
    table = perplexity_table(scores(*protocols))
    csv = written(TABLE, table, tmp_path, Nothing())
    again = TABLE.read(csv)
    assert TABLE.shown(again, Nothing()) == TABLE.shown(table, Nothing())
    if protocols:
        assert again["model"].tolist() == ["a/b", "a/b@k2m2", "c/d"] * 2
        assert again["before"].tolist() == [2, 3, 4] * 2
    after = again["after"].dropna().tolist()
    assert after == ([1.5, 2.5, 3.5] * 2 if len(protocols) == 2 else [])
    missing = tmp_path.joinpath("harmony_perplexity.md").read_text().count("—")
    assert missing == (6 if len(protocols) == 1 else 0)
    FIGURE.draw(Inputs({"table": csv}), Nothing(), tmp_path / "f.pdf", tmp_path / "f.png")
    assert (tmp_path / "f.png").stat().st_size > 1000
