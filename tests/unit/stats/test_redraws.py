"""Intervals and ceilings of agreement: how often they hold, and that they are never too low."""

import numpy as np
import pandas as pd
import pytest

from tests.unit.stats.random_scores import published_scores, random_scores, with_errors
from workflow_scripts.stats.agreement import kendall_matrix, mean_agreement
from workflow_scripts.stats.redraws import (
    agree_with_redraw,
    ceiling_of_pairs,
    difference_drawn,
    interval_drawn,
)
from workflow_scripts.stats.score_errors import ScoreErrors


def held(intervals, truth: float) -> float:
    return float(np.mean([low <= truth <= high for low, high in intervals]))


def test_an_interval_over_items_is_that_of_scores_measured_again():
    truth = random_scores(12, models=25, tasks=5, digits=6)
    stderrs = truth * 0 + 0.3
    generator = np.random.default_rng(8)

    def measured() -> ScoreErrors:
        scores = truth + stderrs * generator.standard_normal(truth.shape)
        return with_errors(scores, stderrs)

    around = interval_drawn(first := measured(), draws=200)
    assert sum(around) / 2 == pytest.approx(mean_agreement(first.scores), abs=0.01), "not shifted"
    expected = np.mean([mean_agreement(measured().scores) for _ in range(200)])
    found = [interval_drawn(measured(), draws=200) for _ in range(60)]
    assert 0.85 <= held(found, expected) <= 1


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
            found = with_errors(moved, truth * 0 + error, correlation=0.5)
            pair.append(ScoreErrors(moved, found.items, found.training, stream))
        return pair[0], pair[1]

    pairs = [measured() for _ in range(60)]
    again = [mean_agreement(two.scores) - mean_agreement(one.scores) for one, two in pairs]
    found = [difference_drawn(*pair, draws=200) for pair in pairs]
    assert 0.85 <= held(found, float(np.mean(again))) <= 1
    # As wide as the differences lie apart, and not twice or half as wide.
    width = np.mean([high - low for low, high in found])
    assert width == pytest.approx(2 * 1.96 * np.std(again), rel=0.35)
    unknown = with_errors(other, truth * np.nan)
    assert np.isnan(difference_drawn(pairs[0][0], unknown, draws=20)).all()


def test_an_interval_holds_its_value_and_ends_where_agreement_does():
    two = pd.DataFrame({"a": [1.0, 0.0], "b": [1.0, 0.2]})
    low, high = interval_drawn(with_errors(two, two * 0 + 0.5), draws=200)
    assert -1 <= low <= mean_agreement(two) == high == 1


def test_without_standard_errors_there_is_no_interval():
    scores = random_scores(2)
    stderrs = scores * 0 + 0.1
    stderrs.iloc[3, 2] = np.nan
    assert np.isnan(interval_drawn(with_errors(scores, stderrs), draws=20)).all()
    scores.iloc[3, 2] = np.nan
    assert not np.isnan(interval_drawn(with_errors(scores, stderrs), draws=20)).any(), (
        "a missing score needs no standard error"
    )
    with pytest.raises(ValueError, match="draws is 0"):
        interval_drawn(with_errors(scores, stderrs), draws=0)


@pytest.mark.parametrize("seed", [1, 2])
def test_tasks_that_differ_in_noise_alone_agree_nearly_up_to_the_ceiling_of_pairs(seed):
    generator = np.random.default_rng(seed)
    noise = np.array([0.05, 0.2, 0.5])
    found, ceilings = [], []
    for _ in range(25):
        ability = generator.standard_normal((61, 1))
        scores = pd.DataFrame(ability + noise * generator.standard_normal((61, 3)))
        ceilings.append(
            ceiling_of_pairs(with_errors(scores, scores * 0 + noise), 30, seed).to_numpy()
        )
        found.append(kendall_matrix(scores).to_numpy())
    above = np.triu_indices(3, 1)
    short = np.mean(ceilings, axis=0)[above] - np.mean(found, axis=0)[above]
    assert (short > -0.01).all(), "never too low"
    assert (short < 0.08).all(), "and not far off"


def test_items_that_models_share_and_trainings_move_the_ceiling_as_they_should():
    """Shared items move all models alike and leave their order; trainings of their own do not."""
    scores = published_scores() / 100
    stderrs = scores * 0 + 0.02
    alone, shared, trained = (
        agree_with_redraw(with_errors(scores, stderrs, *more), draws=50).mean()
        for more in ((0.0,), (0.5,), (0.0, 0.02))
    )
    assert trained < alone < shared
