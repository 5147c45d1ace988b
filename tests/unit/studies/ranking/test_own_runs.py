"""Own runs in the figures of the published study: two tasks, texts beside tasks, compute."""

import pandas as pd
import pytest
from matplotlib.axes import Axes
from scipy.stats import kendalltau

from tests.unit.studies.harmony.harmony_study import (
    BOTH,
    MODELS,
    TASKS,
    WORDS,
    frame,
    harmony_grids,
    request,
    study,
    without,
)
from tests.written import written
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.studies.ranking import leaderboard, pc1_by_compute, texts, two_tasks
from workflow_scripts.studies.ranking.requests import PairRequest


def grids(scores=None, protocols=BOTH):
    return harmony_grids(study(protocols) if scores is None else scores, [], request(protocols))


def pair(tasks) -> PairRequest:
    fields = {name: getattr(request(), name) for name in PairRequest.model_fields if name != "pair"}
    return PairRequest(**fields, pair=tasks)


def beside_tasks(bits):
    return texts.texts_beside_tasks(texts.bits_by_protocol(bits, request()), grids(), request())


def drawn(module, table, asked, folder):
    """The figure from the table as it is read again."""
    found = written(module.TABLE, table, folder, request())
    module.FIGURE.draw(Inputs({"table": found.csv}), asked, folder / "f.pdf", folder / "f.png")
    assert (folder / "f.png").stat().st_size > 5000
    return found.md


def test_the_pair_has_a_row_per_protocol_task_and_model_that_has_both(tmp_path):
    scores = without(study(), MODELS[2], "rte", "direct")
    table = two_tasks.two_tasks(grids(scores), pair(("arc_easy", "rte")))
    count = table.groupby(["protocol", "task"]).size()
    assert count["direct"].tolist() == [5, 5]
    assert count["train_before_test"].tolist() == [6, 6]
    assert set(table["protocol"]) == set(BOTH), "floored scores are for other tables"
    assert ((table["best"] <= table["rank"]) & (table["rank"] <= table["worst"])).all()
    assert "ARC-Easy" in drawn(two_tasks, table, WORDS, tmp_path)


def test_a_copy_of_a_model_has_its_ranks_and_shares_its_label(tmp_path):
    scores = study()
    copies = scores[scores["model"] == MODELS[1]].assign(study="theirs")
    of_both = harmony_grids(scores, [copies], request())
    beside = two_tasks.two_tasks(of_both, pair(("arc_easy", "rte")))
    for table, keys in (
        (beside, ["protocol", "task"]),
        (leaderboard.leaderboard(of_both, request()), ["protocol"]),
    ):
        for _, rows in table.groupby(keys):
            twins = rows[rows["model"] == MODELS[1]]
            assert len(twins) == 2
            assert twins["rank"].nunique() == 1
            assert rows["rank"].nunique() == len(MODELS)
    drawn(two_tasks, beside, WORDS, tmp_path)


def test_where_no_pair_is_asked_for_it_is_the_first_two_tasks_that_there_are_scores_of():
    chosen = two_tasks.two_tasks(grids(), pair(()))
    first, second = grids()["direct"].measured.columns[:2]
    assert chosen.equals(two_tasks.two_tasks(grids(), pair((first, second))))
    assert len(chosen) > 0


def test_a_config_of_one_task_has_no_pair_and_says_so(tmp_path):
    table = two_tasks.two_tasks(grids(), pair(("rte",)))
    assert table.empty
    drawn(two_tasks, table, WORDS, tmp_path)


def corpora(protocols=BOTH) -> pd.DataFrame:
    rows = [
        {"study": "corpora", "model": name, "variant": at + variant, "task": text, "n": 7}
        | {"protocol": protocol, "metric": "bits_per_byte", "value": 2.0 + shift * rank % 1}
        for rank, label in enumerate(MODELS)
        for name, at, variant in [label.partition("@")]
        for text, shift in (("mine", 0.37), ("yours", 0.61))
        for protocol in protocols
    ]
    return frame(rows)


def test_texts_are_set_beside_tasks_under_the_same_protocol(tmp_path):
    found = beside_tasks(corpora())
    one = found.set_index(["panel", "text", "task"]).sort_index()
    bits = corpora(("direct",)).query("task == 'mine'")["value"].astype(float)
    for protocol in BOTH:
        scores = grids()[protocol].values.loc[MODELS, "rte"]
        expected = kendalltau(-bits, scores).statistic
        row = one.loc[(protocol, "mine", "rte")]
        assert row["kendall"].item() == pytest.approx(expected, abs=1e-12)
        assert row["models"].item() == len(MODELS)
    assert len(found) == 2 * 2 * (len(TASKS) + 1)
    assert "mean of all tasks" in drawn(texts, found, WORDS, tmp_path)


@pytest.mark.parametrize("case", ["no bits", "one model"])
def test_texts_without_models_to_compare_are_no_error(case, tmp_path):
    bits = corpora()
    bits = bits.iloc[:0] if case == "no bits" else bits[bits["model"] == MODELS[0]]
    found = beside_tasks(bits)
    assert found["kendall"].isna().all()
    drawn(texts, found, WORDS, tmp_path)


def test_models_stand_at_the_compute_of_their_pretraining(tmp_path, monkeypatch):
    places = []
    plot = Axes.plot

    def listen(axes, *args, **kwargs):
        if args and isinstance(args[0], pd.Series):
            places.extend(args[0])
        return plot(axes, *args, **kwargs)

    monkeypatch.setattr(Axes, "plot", listen)
    table = leaderboard.leaderboard(grids(), request())
    base = "miniature/Qwen2-1M-Instruct"  # and its chunked variant with it
    table["tokens_billion"] = table["model"].map({base: 0.5, "miniature/Llama-0.3M": 2.0})
    drawn(pc1_by_compute, table, WORDS, tmp_path)
    sizes = table.drop_duplicates("model").set_index("model")["parameters"]
    expected = [6 * sizes[base] * 0.5e9] * 2 + [6 * sizes["miniature/Llama-0.3M"] * 2e9]
    assert sorted(places) == pytest.approx(sorted(expected * 2)), "two protocols"
    drawn(pc1_by_compute, table.assign(tokens_billion=float("nan")), WORDS, tmp_path)
