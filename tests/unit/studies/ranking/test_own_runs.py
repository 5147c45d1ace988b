"""Own runs beside imported ones: two tasks, texts, and texts beside tasks."""

from itertools import combinations

import pandas as pd
import pytest
from scipy.stats import kendalltau

from tests.records import make_scores
from tests.unit.studies.harmony.harmony_study import (
    BOTH,
    MODELS,
    SETTINGS,
    TASKS,
    grids,
    study,
    without,
)
from workflow_scripts.studies.ranking import bits, leaderboard, task_pair
from workflow_scripts.studies.ranking.text_agreement import compare_texts, plot_texts
from workflow_scripts.studies.ranking.text_pairs import compare_text_pairs
from workflow_scripts.studies.ranking.texts import pivot_bits, read_bits


def pair_of(made, *tasks):
    return task_pair.compute_task_pair(made, SETTINGS, tasks)


def test_the_pair_has_a_row_per_protocol_task_and_model_that_has_both():
    table = pair_of(grids(without(study(), MODELS[2], "rte", "direct")), "arc_easy", "rte")
    count = table.groupby(["protocol", "task"]).size()
    assert count["direct"].tolist() == [5, 5]
    assert count["train_before_test"].tolist() == [6, 6]
    assert set(table["protocol"]) == set(BOTH), "floored scores are for other tables"
    assert ((table["best"] <= table["rank"]) & (table["rank"] <= table["worst"])).all()


def test_a_copy_of_a_model_has_its_ranks():
    scores = study()
    copies = scores[scores["model"] == MODELS[1]].assign(study="theirs")
    of_both = grids(scores, [copies])
    for table, keys in (
        (pair_of(of_both, "arc_easy", "rte"), ["protocol", "task"]),
        (leaderboard.compute_leaderboard(of_both, 20, 0), ["protocol"]),
    ):
        for _, rows in table.groupby(keys):
            twins = rows[rows["model"] == MODELS[1]]
            assert len(twins) == 2
            assert twins["rank"].nunique() == 1
            assert rows["rank"].nunique() == len(MODELS)


def test_where_no_pair_is_asked_for_it_is_the_first_two_tasks_and_of_one_there_is_none(tmp_path):
    made = grids(study())
    assert pair_of(made).equals(pair_of(made, *made["direct"].measured.columns[:2]))
    none = pair_of(made, "rte")
    assert none.empty
    files = [tmp_path / "f.pdf", tmp_path / "f.png"]
    task_pair.plot_task_pair(none, SETTINGS, files)
    assert files[1].stat().st_size > 1000


def corpora(protocols=BOTH) -> pd.DataFrame:
    rows = [
        {"study": "corpora", "model": name, "variant": at + variant, "task": text, "n": 7}
        | {"protocol": protocol, "metric": "bits_per_byte", "value": 2.0 + shift * rank % 1}
        for rank, label in enumerate(MODELS)
        for name, at, variant in [label.partition("@")]
        for text, shift in (("mine", 0.37), ("yours", 0.61))
        for protocol in protocols
    ]
    return make_scores([*rows, *({**row, "metric": "word_perplexity"} for row in rows)])


def read(scores, folder):
    scores.to_parquet(folder / "corpora.parquet")
    return read_bits([folder / "corpora.parquet"], SETTINGS)


def test_texts_are_set_beside_tasks_under_the_same_protocol(tmp_path):
    made = grids(study())
    of_texts = pivot_bits(read(corpora(), tmp_path), SETTINGS)
    found = compare_texts(of_texts, made, SETTINGS)
    one = found.set_index(["panel", "text", "task"]).sort_index()
    for protocol in BOTH:
        expected = kendalltau(
            -of_texts[protocol].loc[MODELS, "mine"], made[protocol].values.loc[MODELS, "rte"]
        ).statistic
        row = one.loc[(protocol, "mine", "rte")]
        assert row["kendall"].item() == pytest.approx(expected, abs=1e-12)
        assert row["models"].item() == len(MODELS)
    assert len(found) == 2 * 2 * (len(TASKS) + 1)


@pytest.mark.parametrize("case", ["no bits", "one model"])
def test_texts_without_models_to_compare_are_no_error(case, tmp_path):
    scores = corpora()
    scores = scores.iloc[:0] if case == "no bits" else scores[scores["model"] == MODELS[0]]
    rows = read(scores, tmp_path)
    found = compare_texts(pivot_bits(rows, SETTINGS), grids(study()), SETTINGS)
    assert found["kendall"].isna().all()
    files = [tmp_path / "f.pdf", tmp_path / "f.png"]
    plot_texts(found, SETTINGS, files)
    bits.plot_bits(bits.tabulate_bits(rows, SETTINGS), SETTINGS, files)
    assert files[1].stat().st_size > 1000


@pytest.mark.parametrize("protocols", [BOTH, ("direct",)], ids=str)
def test_a_model_has_a_row_for_each_text_the_best_after_training_first(protocols, tmp_path):
    table = bits.tabulate_bits(read(corpora(protocols), tmp_path), SETTINGS)
    assert list(table) == ["text", "model", "n", "direct", "train_before_test"]
    for _, of in table.groupby("text"):
        assert sorted(of["model"]) == sorted(MODELS)
        assert of[protocols[-1]].is_monotonic_increasing or len(protocols) == 1
    assert table["train_before_test"].isna().all() == (len(protocols) == 1)


def test_every_two_texts_are_compared_under_each_protocol(tmp_path):
    of_texts = pivot_bits(read(corpora(), tmp_path), SETTINGS)
    table = compare_text_pairs(of_texts)
    assert len(table) == 2
    for row in table.itertuples():
        both = of_texts[row.protocol][["mine", "yours"]]
        assert row.value == pytest.approx(kendalltau(*both.to_numpy().T).statistic)
    assert list(combinations(["mine", "yours"], 2)) == [(row.first, row.second)]
