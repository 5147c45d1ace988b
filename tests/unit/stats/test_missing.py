"""Compare the estimates of missing cells with published scores that were masked."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from tests.unit.stats.random_scores import LEADERBOARD, build_score_errors
from workflow_scripts.stats.missing import complete_scores
from workflow_scripts.stats.principal import compute_principal_components


def read_published(protocol: str) -> list[pd.DataFrame]:
    long = pd.read_csv(LEADERBOARD.with_name("harmony_cells.csv"))
    rows = long[(long["protocol"] == protocol) & (long["metric"] != "bits_per_byte")]
    return [rows.pivot(index="model", columns="task", values=name) for name in ("value", "stderr")]


@pytest.mark.parametrize(
    ("protocol", "missing_fraction", "min_tau"),
    [("direct", 0.05, 0.985), ("train_before_test", 0.2, 0.965)],
)
def test_estimates_keep_scores_and_ranks(protocol, missing_fraction, min_tau):
    scores, stderrs = read_published(protocol)
    generator, coverage, taus = np.random.default_rng(1), [], []
    first = compute_principal_components(scores).scores["PC1"]
    for _ in range(2):
        missing = generator.random(scores.shape) < missing_fraction
        completed = complete_scores(build_score_errors(scores.mask(missing), stderrs.mask(missing)))
        estimates = completed.errors.scores
        assert (completed.filled.to_numpy() == missing).all()
        pd.testing.assert_frame_equal(estimates.mask(missing), scores.mask(missing))
        covered = (estimates - scores).abs() <= 1.96 * completed.errors.stderrs
        coverage.append(covered.to_numpy()[missing])
        taus.append(
            kendalltau(compute_principal_components(estimates).scores["PC1"], first).statistic
        )
    assert 0.92 <= np.concatenate(coverage).mean() <= 0.98
    assert np.mean(taus) > min_tau


def test_missing_stderr_matches_similar_scores():
    scores, stderrs = read_published("train_before_test")
    missing = np.random.default_rng(0).random(stderrs.shape) < 0.05
    completed = complete_scores(build_score_errors(scores, stderrs.mask(missing)))
    ratio = (completed.errors.stderrs / stderrs).to_numpy()[missing]
    assert np.quantile(np.abs(np.log(ratio)), 0.95) < np.log(1.2)
    assert not completed.filled.any(axis=None)
    unknown = complete_scores(build_score_errors(scores, stderrs.assign(rte=np.nan)))
    assert unknown.errors.stderrs["rte"].isna().all()
