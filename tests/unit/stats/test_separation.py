"""Is one model better than another: the numbers, and that what they ask for does settle it, by drawing it."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, t, ttest_1samp

from tests.unit.settings.merged import ROOT
from workflow_scripts.stats.item_errors import measured_errors
from workflow_scripts.stats.separation import (
    items_needed,
    seeds_needed,
    separation,
    shown_from,
    tasks_needed,
)

DRAWS = 4000
CLOSE = 0.03  # four standard errors of a share of 80% in so many draws, and what rounding up adds


def test_a_difference_has_its_interval_and_its_probability():
    found = separation(0.02, 0.01)
    assert found.difference == 0.02
    assert (found.low, found.high) == pytest.approx((0.02 - 0.0195996, 0.02 + 0.0195996), abs=1e-6)
    assert found.probability == pytest.approx(norm.cdf(2))
    assert found.shows_from == pytest.approx((1.959964 + 0.841621) * 0.01)
    few = separation(-0.02, 0.01, freedom=3)
    assert few.probability == pytest.approx(t.cdf(-2, 3))
    assert few.high == pytest.approx(-0.02 + 3.182446 * 0.01)
    assert few.shows_from > found.shows_from


def test_without_an_error_nothing_is_said_and_without_a_difference_neither_is_better():
    assert all(map(math.isnan, separation(0.02, math.nan)[1:]))
    assert all(map(math.isnan, separation(0.02, 0.01, freedom=0)[1:])), "one task has no spread"
    assert separation(0.0, 0.0).probability == 0.5
    assert separation(0.1, 0.0).probability == 1
    assert (
        items_needed(0.0, 0.1) == seeds_needed(0.0, 0.1, 0.1) == tasks_needed(0.0, 0.1) == math.inf
    )
    unknown = (
        items_needed(0.1, math.nan),
        seeds_needed(0.1, 0.1, math.nan),
        tasks_needed(1, math.nan),
    )
    assert all(map(math.isnan, unknown))


@pytest.mark.parametrize("freedom", [1, 2, 4, 23, math.inf])
def test_what_shows_is_shown_four_times_in_five(freedom):
    draws = np.random.default_rng(1).standard_normal(DRAWS) + shown_from(freedom)
    if math.isfinite(freedom):
        draws /= np.sqrt(np.random.default_rng(2).chisquare(freedom, DRAWS) / freedom)
    assert (draws > t.ppf(0.975, freedom)).mean() == pytest.approx(0.8, abs=CLOSE)


@pytest.mark.parametrize(
    ("difference", "items", "training"),
    [(0.02, 0.005, 0.02), (-0.01, 0.002, 0.012), (0.1, 0.01, 0)],
)
def test_so_many_trainings_settle_it_and_one_fewer_does_not(difference, items, training):
    seeds = seeds_needed(difference, items, training)

    def power(trainings: float) -> float:
        error = math.hypot(items, training / math.sqrt(trainings))
        draws = np.random.default_rng(3).normal(abs(difference), error, DRAWS)
        drawn = (draws / error > 1.959964).mean()
        exact = norm.sf(1.959964 - abs(difference) / error)
        assert drawn == pytest.approx(exact, abs=CLOSE)
        return exact

    assert power(seeds) >= 0.8
    assert seeds == 1 or power(seeds - 1) < 0.8
    assert seeds_needed(difference, abs(difference), training) == math.inf, (
        "items alone are too many"
    )


@pytest.mark.parametrize("spread", [0.3, 1.0, 4.0])
def test_so_many_tasks_settle_it_and_fewer_do_not(spread):
    tasks = tasks_needed(-1.0, spread)
    generator = np.random.default_rng(4)

    def power(number: int) -> float:
        apart = generator.normal(1.0, spread, (DRAWS, number))
        found = ttest_1samp(apart, 0, axis=1)
        return float(((found.pvalue < 0.05) & (found.statistic > 0)).mean())

    assert power(tasks) > 0.8 - CLOSE
    assert tasks == 2 or power(tasks - max(1, tasks // 5)) < 0.8 - CLOSE / 2


def real_answers() -> np.ndarray:
    """Right or not on ARC-Challenge, of two models that are some points apart."""
    table = pd.read_parquet(ROOT / "resources/published/items/arc_challenge.parquet")
    right = np.stack(table["right"].to_list()).astype(float)
    order = right.mean(axis=1).argsort()
    return right[order[[120, 150]]]


def from_items(answers: np.ndarray):
    """As the error model has it of two models and one task."""
    shares = answers.mean(axis=1)
    influences = (answers - shares[:, None]) / answers.shape[1]
    variance = measured_errors(influences, np.zeros(2)).of_difference(np.array([1]), np.array([0]))
    return separation(shares[1] - shares[0], math.sqrt(variance[0]))


def test_intervals_of_two_models_on_real_items_hold_the_truth_and_more_items_settle_it():
    right, generator = real_answers(), np.random.default_rng(5)
    truth = float(np.subtract(*right[::-1].mean(axis=1)))
    whole = from_items(right)
    assert whole.difference == pytest.approx(truth)
    found = [
        from_items(right[:, generator.integers(right.shape[1], size=300)]) for _ in range(1500)
    ]
    holding = np.mean([one.low <= truth <= one.high for one in found])
    assert holding == pytest.approx(0.95, abs=0.015)
    # Of 300 items the error is larger than of all, and a draw of so many more has the power that was asked for.
    error = whole.stderr * math.sqrt(right.shape[1] / 300)
    number = round(300 * items_needed(truth, error))
    assert number > 300
    again = [
        from_items(right[:, generator.integers(right.shape[1], size=number)]) for _ in range(DRAWS)
    ]
    assert np.mean([one.low > 0 for one in again]) == pytest.approx(0.8, abs=CLOSE)
