"""Intervals and ceilings of agreement: how often they hold, and that they are never too low."""

import numpy as np
import pandas as pd
import pytest

from tests.unit.stats.random_scores import format_with_errors, random_scores
from workflow_scripts.stats.agreement import kendall_matrix, mean_agreement
from workflow_scripts.stats.redraws import (
    ceiling_of_pairs,
    difference_drawn,
)
from workflow_scripts.stats.score_errors import ScoreErrors


def held(intervals, truth: float) -> float:
    return float(np.mean([low <= truth <= high for low, high in intervals]))


def test_a_difference_is_that_of_both_protocols_measured_again_on_the_same_items():
    truth = random_scores(14, models=25, tasks=5, digits=6)
    other = random_scores(15, models=25, tasks=5, digits=6)
    other += 2 * truth.mean(axis=1).to_numpy()[:, None]
    generator = np.random.default_rng(9)

    def measured() -> tuple[ScoreErrors, ScoreErrors]:
        shared = generator.standard_normal(truth.shape[1])
        pair = []
        for stream, (scores, error) in enumerate(((truth, 0.2), (other, 0.4))):
            own = generator.standard_normal(truth.shape)
            moved = scores + error * (0.5**0.5 * shared + 0.5**0.5 * own)
            found = format_with_errors(moved, truth * 0 + error, correlation=0.5)
            pair.append(ScoreErrors(moved, found.items, found.training, stream))
        return pair[0], pair[1]

    pairs = [measured() for _ in range(40)]
    again = [mean_agreement(two.scores) - mean_agreement(one.scores) for one, two in pairs]
    found = [difference_drawn(*pair, draws=80) for pair in pairs]
    assert 0.85 <= held(found, float(np.mean(again))) <= 1
    # As wide as the differences lie apart, and not twice or half as wide.
    width = np.mean([high - low for low, high in found])
    assert width == pytest.approx(2 * 1.96 * np.std(again), rel=0.35)
    unknown = format_with_errors(other, truth * np.nan)
    assert np.isnan(difference_drawn(pairs[0][0], unknown, draws=20)).all()


@pytest.mark.parametrize("seed", [1, 2])
def test_tasks_that_differ_in_noise_alone_agree_nearly_up_to_the_ceiling_of_pairs(seed):
    generator = np.random.default_rng(seed)
    noise = np.array([0.05, 0.2, 0.5])
    found, ceilings = [], []
    for _ in range(25):
        ability = generator.standard_normal((61, 1))
        scores = pd.DataFrame(ability + noise * generator.standard_normal((61, 3)))
        ceilings.append(
            ceiling_of_pairs(format_with_errors(scores, scores * 0 + noise), 30, seed).to_numpy()
        )
        found.append(kendall_matrix(scores).to_numpy())
    above = np.triu_indices(3, 1)
    short = np.mean(ceilings, axis=0)[above] - np.mean(found, axis=0)[above]
    assert (short > -0.01).all(), "never too low"
    assert (short < 0.08).all(), "and not far off"
