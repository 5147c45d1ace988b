"""Compare the agreement of task pairs with scipy, and its intervals and ceilings with plain loops."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.stats import kendalltau

from tests.unit.stats.random_scores import build_score_errors, make_random_scores
from workflow_scripts.stats.agreement import (
    compute_kendall_matrix,
    compute_mean_agreement,
)
from workflow_scripts.stats.redraws import (
    bootstrap_agreement,
    bootstrap_agreement_rise,
    compute_agreement_ceiling,
)
from workflow_scripts.stats.score_errors import ScoreErrors


def compute_tau(first, second) -> float:
    both = ~(np.isnan(first) | np.isnan(second))
    return kendalltau(first[both], second[both]).statistic if both.sum() > 1 else np.nan


def compute_tau_matrix(values: np.ndarray) -> np.ndarray:
    return np.array([[compute_tau(first, second) for second in values.T] for first in values.T])


def compute_mean_tau(values: np.ndarray) -> float:
    return np.nanmean(compute_tau_matrix(values)[np.triu_indices(values.shape[1], 1)])


def center(value: float, samples: np.ndarray) -> list[float]:
    low, high = np.quantile(samples, [0.025, 0.975]) - samples.mean()
    return [value + min(low, 0), value + max(high, 0)]


def assert_same(result, expected):
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize(
    ("seed", "models", "gaps", "digits"),
    [(0, 3, 0.0, 6), (2, 25, 0.7, 0), (4, 1010, 0.1, 1)],
)
def test_tau_matches_scipy(seed, models, gaps, digits):
    scores = make_random_scores(seed, models, gaps=gaps, digits=digits)
    assert_same(compute_kendall_matrix(scores), compute_tau_matrix(scores.to_numpy()))
    assert_same(compute_mean_agreement(scores), compute_mean_tau(scores.to_numpy()))


@pytest.mark.parametrize(("seed", "models", "gaps", "digits"), [(0, 12, 0.0, 6), (1, 14, 0.1, 1)])
def test_intervals_match_plain_loops(seed, models, gaps, digits):
    scores = make_random_scores(seed, models, tasks=3 + seed, gaps=gaps, digits=digits)
    # A score with zero standard error is not perturbed, so ties remain.
    stderrs = scores * 0 + np.where(np.arange(3 + seed) % 2, 0.0, 0.3)
    errors = build_score_errors(scores, stderrs, 0.4, 0.1 * (seed % 2))
    samples = list(errors.draw_scores(5, seed))
    other = ScoreErrors(scores.round(0), errors.item_errors, errors.training_sd, stream=1)
    means, others_means = (
        np.array([compute_mean_tau(sample) for sample in protocol.draw_scores(4, seed)])
        for protocol in (errors, other)
    )
    value = compute_mean_tau(scores.to_numpy())
    expected = center(value, means)
    assert_same(bootstrap_agreement(errors, 4, seed), np.clip(expected, -1, 1))
    rise = compute_mean_tau(other.scores.to_numpy()) - value
    expected = center(rise, others_means - means)
    assert_same(bootstrap_agreement_rise(errors, other, 4, seed), expected)
    measured = scores.to_numpy()

    def compute_reliability(task: int, other: int) -> float:
        rows = ~np.isnan(measured[:, other])
        taus = [
            compute_tau(left[rows, task], right[rows, task]) for left, right in pairwise(samples)
        ]
        return max(np.mean(taus), 0.0)

    ceilings = compute_agreement_ceiling(errors, 4, seed).to_numpy()
    for a, b in combinations(range(3 + seed), 2):
        assert_same(ceilings[a, b], np.sqrt(compute_reliability(a, b) * compute_reliability(b, a)))
