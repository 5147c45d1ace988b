"""Own runs beside imported ones: two tasks, texts, and texts beside tasks."""

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
from workflow_scripts.studies.ranking.text_agreement import compare_texts
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


@pytest.mark.parametrize("protocols", [BOTH, ("direct",)], ids=str)
def test_a_model_has_a_row_for_each_text_the_best_after_training_first(protocols, tmp_path):
    table = bits.tabulate_bits(read(corpora(protocols), tmp_path), SETTINGS)
    assert list(table) == ["text", "model", "n", "direct", "train_before_test"]
    for _, of in table.groupby("text"):
        assert sorted(of["model"]) == sorted(MODELS)
        assert of[protocols[-1]].is_monotonic_increasing or len(protocols) == 1
    assert table["train_before_test"].isna().all() == (len(protocols) == 1)
