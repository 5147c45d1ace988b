"""Set texts of one's own beside tasks."""

import pytest
from scipy.stats import kendalltau

from tests.records import make_scores
from tests.unit.studies.harmony.harmony_study import BOTH, MODELS, SETTINGS, TASKS, grids, study
from workflow_scripts.studies.ranking.bits import tabulate_bits
from workflow_scripts.studies.ranking.text_agreement import compare_texts
from workflow_scripts.studies.ranking.texts import pivot_bits, read_bits


@pytest.fixture(params=[BOTH, BOTH[:1]], ids=len)
def bits(request, tmp_path):
    rows = [
        {"study": "corpora", "model": name, "variant": mark + variant, "task": text, "n": 7}
        | {"protocol": protocol, "metric": metric, "value": 2.0 + shift * rank % 1}
        for rank, label in enumerate(MODELS)
        for name, mark, variant in [label.partition("@")]
        for text, shift in (("mine", 0.37), ("yours", 0.61))
        for protocol in request.param
        for metric in ("bits_per_byte", "word_perplexity")
    ]
    make_scores(rows).to_parquet(tmp_path / "corpora.parquet")
    return read_bits([tmp_path / "corpora.parquet"], SETTINGS)


def test_texts_are_compared_with_tasks_under_the_same_protocol(bits):
    made, by_protocol = grids(study()), pivot_bits(bits, SETTINGS)
    table = compare_texts(by_protocol, made, SETTINGS)
    assert len(table) == len(by_protocol) * 2 * (len(TASKS) + 1)
    rows = table.set_index(["panel", "text", "task"])
    for protocol, texts in by_protocol.items():
        both = -texts.loc[MODELS, "mine"], made[protocol].values.loc[MODELS, "rte"]
        row = rows.loc[(protocol, "mine", "rte")]
        assert row["kendall"] == pytest.approx(kendalltau(*both).statistic, abs=1e-12)
        assert row["models"] == len(MODELS)


def test_a_model_has_a_row_for_each_text_the_best_after_training_first(bits):
    table = tabulate_bits(bits, SETTINGS)
    assert list(table) == ["text", "model", "n", "direct", "train_before_test"]
    for _, rows in table.groupby("text"):
        assert sorted(rows["model"]) == sorted(MODELS)
        trained = rows["train_before_test"]
        assert trained.isna().all() or trained.is_monotonic_increasing
