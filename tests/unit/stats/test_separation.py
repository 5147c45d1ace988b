"""Is one model better than another: the numbers, and that what they ask for does settle it, by drawing it."""

import math

import numpy as np
import pytest
from scipy.stats import norm, t

from workflow_scripts.stats.separation import separation, shown_from

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


@pytest.mark.parametrize("freedom", [1, 2, 4, 23, math.inf])
def test_what_shows_is_shown_four_times_in_five(freedom):
    draws = np.random.default_rng(1).standard_normal(DRAWS) + shown_from(freedom)
    if math.isfinite(freedom):
        draws /= np.sqrt(np.random.default_rng(2).chisquare(freedom, DRAWS) / freedom)
    assert (draws > t.ppf(0.975, freedom)).mean() == pytest.approx(0.8, abs=CLOSE)
