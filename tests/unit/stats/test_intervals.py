"""Bootstraps against plain resampling, and how often the intervals hold."""

import time

import numpy as np
import pandas as pd
import pytest

from tests.unit.stats.random_scores import published_scores, random_scores
from workflow_scripts.stats.agreement import mean_agreement
from workflow_scripts.stats.intervals import (
    _matrices,
    difference_of_agreement,
    difference_over_items,
    interval_over_items,
    interval_over_models,
    percentiles,
)


def test_intervals_of_the_published_table_hold_the_value_and_take_seconds():
    scores = published_scores()
    started = time.process_time()
    over_models = interval_over_models(scores, draws=1000)
    over_items = interval_over_items(scores, scores * 0 + 1.0, draws=1000)
    assert time.process_time() - started < 20
    for interval in (over_models, over_items):
        assert interval.low < mean_agreement(scores) < interval.high
    assert over_items.high - over_items.low < over_models.high - over_models.low


def test_the_same_seed_gives_the_same_interval_and_another_seed_another():
    scores = random_scores(3, models=20)
    first = interval_over_models(scores, draws=50)
    _matrices.cache_clear()  # or what was drawn before would be compared with itself
    assert interval_over_models(scores, draws=50) == first
    assert interval_over_models(scores, draws=50, seed=1) != first


def test_an_interval_over_models_holds_the_agreement_of_all_such_models_as_often_as_it_says():
    crowd = random_scores(11, models=3000, tasks=4, digits=6)
    truth = mean_agreement(crowd.iloc[:1500])
    generator = np.random.default_rng(7)
    held = 0
    for _ in range(60):
        sample = crowd.iloc[generator.choice(3000, 30, replace=False)]
        low, high = interval_over_models(sample, draws=200)
        held += low <= truth <= high
    assert 0.85 <= held / 60 <= 1


def test_an_interval_over_items_is_that_of_scores_measured_again():
    truth = random_scores(12, models=25, tasks=5, digits=6)
    stderrs = truth * 0 + 0.3
    generator = np.random.default_rng(8)

    def measured():
        return truth + stderrs * generator.standard_normal(truth.shape)

    around = interval_over_items(scores := measured(), stderrs, draws=200)
    assert sum(around) / 2 == pytest.approx(mean_agreement(scores), abs=0.01), "not shifted down"
    expected = np.mean([mean_agreement(measured()) for _ in range(200)])
    held = [
        interval.low <= expected <= interval.high
        for interval in (interval_over_items(measured(), stderrs, draws=200) for _ in range(60))
    ]
    assert 0.85 <= np.mean(held) <= 1


def test_a_difference_over_items_is_that_of_scores_measured_again():
    truth = random_scores(14, models=25, tasks=5, digits=6)
    other = random_scores(15, models=25, tasks=5, digits=6)
    other += 2 * truth.mean(axis=1).to_numpy()[:, None]
    stderrs, others = truth * 0 + 0.2, truth * 0 + 0.4
    generator = np.random.default_rng(9)

    def measured():
        first = truth + stderrs * generator.standard_normal(truth.shape)
        second = other + others * generator.standard_normal(truth.shape)
        return first, stderrs, second, others

    pairs = [measured() for _ in range(60)]
    again = [mean_agreement(second) - mean_agreement(first) for first, _, second, _ in pairs]
    found = [difference_over_items(*pair, draws=200) for pair in pairs]
    expected = np.mean(again)
    assert 0.85 <= np.mean([low <= expected <= high for low, high in found]) <= 1
    # As wide as the differences lie apart, and not twice or half as wide.
    width = np.mean([high - low for low, high in found])
    assert width == pytest.approx(2 * 1.96 * np.std(again), rel=0.35)
    first, errors, second, _ = pairs[0]
    unknown = errors.mask(errors > 0)
    assert np.isnan(difference_over_items(first, errors, second, unknown, draws=20)).all()


def test_without_standard_errors_or_models_there_is_no_interval():
    scores = random_scores(2)
    stderrs = scores * 0 + 0.1
    stderrs.iloc[3, 2] = np.nan
    assert np.isnan(interval_over_items(scores, stderrs, draws=20)).all()
    assert np.isnan(interval_over_models(scores.iloc[:2], draws=20)).all()
    assert np.isnan(percentiles(np.array([1.0, np.nan, np.nan]))).all()
    scores.iloc[3, 2] = np.nan
    assert not np.isnan(interval_over_items(scores, stderrs, draws=20)).any(), (
        "a missing score needs no standard error"
    )


def test_the_difference_of_two_protocols_is_paired():
    direct = random_scores(5, models=30, tasks=5, digits=6)
    better = pd.DataFrame(
        direct.mean(axis=1).to_numpy()[:, None] + 0.1 * direct.to_numpy(),
        direct.index,
        direct.columns,
    )
    value, low, high = difference_of_agreement(direct, better, draws=200)
    assert value == pytest.approx(mean_agreement(better) - mean_agreement(direct))
    assert 0 < low < value < high
    assert difference_of_agreement(direct, direct, draws=50) == (0, 0, 0)
    with pytest.raises(ValueError, match="other models"):
        difference_of_agreement(direct, better.iloc[1:], draws=50)


def test_no_draws_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match="draws is 0"):
        interval_over_models(random_scores(1), draws=0)
