"""Tabulate bits per byte of texts of one's own; published ones have tests beside their study."""

import pytest

from tests.records import make_scores
from tests.unit.studies.harmony.harmony_study import BOTH, MODELS, SETTINGS
from workflow_scripts.studies.ranking.bits import compute_bits
from workflow_scripts.studies.ranking.texts import read_bits


@pytest.mark.parametrize("protocols", [BOTH, BOTH[:1]], ids=len)
def test_bits_sorted_by_last_protocol(protocols, tmp_path):
    rows = [
        {"study": "corpora", "model": name, "variant": "", "task": text, "n": 7}
        | {"protocol": protocol, "metric": metric, "value": 2.0 + shift * rank % 1}
        for rank, name in enumerate(MODELS)
        for text, shift in (("mine", 0.37), ("yours", 0.61))
        for protocol in protocols
        for metric in ("bits_per_byte", "word_perplexity")
    ]
    make_scores(rows).to_parquet(tmp_path / "corpora.parquet")
    table = compute_bits(read_bits([tmp_path / "corpora.parquet"], SETTINGS), SETTINGS)
    assert list(table) == ["text", "model", "n", "direct", "train_before_test"]
    for _, rows in table.groupby("text"):
        assert sorted(rows["model"]) == sorted(MODELS)
        trained = rows["train_before_test"]
        assert trained.is_monotonic_increasing if len(protocols) == 2 else trained.isna().all()
