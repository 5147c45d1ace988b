"""Intervals of agreement: how often they hold, over items and trainings, and over families of models."""

import time

import numpy as np
import pandas as pd
import pytest

from tests.unit.stats.random_scores import published_scores, random_scores, with_errors
from workflow_scripts.stats.agreement import mean_agreement
from workflow_scripts.stats.intervals import difference_drawn, interval_drawn
from workflow_scripts.stats.jackknife import over_families
from workflow_scripts.stats.score_errors import ScoreErrors


def held(intervals, truth: float) -> float:
    return float(np.mean([low <= truth <= high for low, high in intervals]))


def test_the_interval_of_the_published_table_holds_the_value_and_takes_seconds():
    scores = published_scores()
    started = time.process_time()
    low, high = interval_drawn(with_errors(scores, scores * 0 + 1.0), draws=1000)
    assert time.process_time() - started < 20
    assert low < mean_agreement(scores) < high


def test_the_same_seed_gives_the_same_interval_and_another_seed_another():
    scores = random_scores(3, models=20)
    errors = with_errors(scores, scores * 0 + 0.3)
    first = interval_drawn(errors, draws=50)
    assert interval_drawn(errors, draws=50) == first
    assert interval_drawn(errors, draws=50, seed=1) != first


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


@pytest.mark.parametrize("share", [0.0, 0.2, 0.4])
def test_an_interval_over_families_holds_as_often_as_it_says(share):
    """Models are as alike as their family is, by a share of the variance; the families of the published grid."""
    families = np.repeat(np.arange(6), (26, 8, 8, 8, 7, 4))
    generator = np.random.default_rng(int(10 * share))

    def measured() -> pd.DataFrame:
        def drawn(tasks: int) -> np.ndarray:
            of_family, own = generator.standard_normal((2, len(families), tasks))
            return share**0.5 * of_family[families] + (1 - share) ** 0.5 * own

        return pd.DataFrame(drawn(1) + drawn(5))

    found, values = [], []
    for _ in range(150):
        scores = measured()
        reach = over_families(
            lambda kept, scores=scores: np.array(mean_agreement(scores[kept])),
            pd.Series(families),
        )
        values.append(mean_agreement(scores))
        found.append((reach.low, reach.high))
    assert 0.88 <= held(found, float(np.mean(values))) <= 0.99


def test_too_few_families_are_told_and_models_of_no_family_stand_by_themselves():
    def mean(kept: np.ndarray) -> np.ndarray:
        return np.array(np.arange(5.0)[kept].mean())

    one = over_families(mean, pd.Series(["Qwen"] * 5))
    assert (one.groups, one.of) == (5, "models")
    assert one.low < 2 < one.high
    unknown = over_families(mean, pd.Series(["Qwen", None, None, "Yi", "Yi"]))
    assert (unknown.groups, unknown.of) == (4, "families")
    two = over_families(lambda kept: np.array(1.0), pd.Series(["Qwen", "Yi"]))
    assert np.isnan([two.low, two.high]).all(), "two models are one pair"
