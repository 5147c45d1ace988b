"""Estimates of missing cells, compared with cells of the published scores that were taken out."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from tests.unit.stats.random_scores import LEADERBOARD, format_with_errors
from workflow_scripts.stats.missing import complete
from workflow_scripts.stats.principal import principal_components


def read_published(protocol: str) -> list[pd.DataFrame]:
    long = pd.read_csv(LEADERBOARD.with_name("harmony_cells.csv"))
    rows = long[(long["protocol"] == protocol) & (long["metric"] != "bits_per_byte")]
    return [rows.pivot(index="model", columns="task", values=name) for name in ("value", "stderr")]


@pytest.mark.parametrize(
    ("protocol", "share", "least"), [("direct", 0.05, 0.985), ("train_before_test", 0.2, 0.965)]
)
def test_estimates_hold_what_was_measured_and_rank_models_nearly_alike(protocol, share, least):
    scores, stderrs = read_published(protocol)
    generator, inside, taus = np.random.default_rng(1), [], []
    first = principal_components(scores).scores["PC1"]
    for _ in range(5):
        lost = generator.random(scores.shape) < share
        completed = complete(format_with_errors(scores.mask(lost), stderrs.mask(lost)))
        estimates = completed.errors.scores
        assert (completed.filled.to_numpy() == lost).all()
        pd.testing.assert_frame_equal(estimates.mask(lost), scores.mask(lost))
        within = (estimates - scores).abs() <= 1.96 * completed.errors.stderrs
        inside.append(within.to_numpy()[lost])
        taus.append(kendalltau(principal_components(estimates).scores["PC1"], first).statistic)
    assert 0.92 <= np.concatenate(inside).mean() <= 0.98
    assert np.mean(taus) > least


def test_a_missing_standard_error_is_that_of_similar_scores():
    scores, stderrs = read_published("train_before_test")
    lost = np.random.default_rng(0).random(stderrs.shape) < 0.05
    completed = complete(format_with_errors(scores, stderrs.mask(lost)))
    ratio = (completed.errors.stderrs / stderrs).to_numpy()[lost]
    assert np.quantile(np.abs(np.log(ratio)), 0.95) < np.log(1.2)
    assert not completed.filled.any(axis=None)
    unknown = complete(format_with_errors(scores, stderrs.assign(rte=np.nan)))
    assert unknown.errors.stderrs["rte"].isna().all()
