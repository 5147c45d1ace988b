"""Shares at 0, at 1 and at a floor: against scipy's intervals and exact tests, and by drawing."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import matthews_corrcoef

from workflow_scripts.stats.shares import (
    coefficient_step,
    errors_above,
    share_error,
    standard_error,
    wilson,
)


@pytest.mark.parametrize("n", [1, 7, 100, 5463])
def test_the_interval_is_wilsons_as_scipy_has_it(n):
    for right in {0, 1, n // 3, n - 1, n}:
        low, high = wilson(right / n, n)
        theirs = binomtest(right, n).proportion_ci(method="wilson")
        # 1.96 where they take 1.95996...
        assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=2e-5)
        assert 0 <= low <= right / n <= high <= 1
        assert low < high


@pytest.mark.parametrize(("floor", "n"), [(0.25, 40), (0.5, 200), (0.65, 1000)])
def test_a_model_at_the_floor_clears_it_as_seldom_as_two_standard_errors_say(floor, n):
    drawn = np.random.default_rng(n).binomial(n, floor, 20_000) / n
    above = errors_above(drawn, share_error(drawn, n), floor, n)
    assert 0.005 < (above >= 2).mean() < 0.035


def test_the_error_is_that_of_the_floor_and_not_that_of_the_score():
    assert errors_above(1.0, 0.0, 0.5, 100) == pytest.approx(10)
    assert errors_above(0.5, 0.05, 0.5, 100) == 0
    assert errors_above(0.0, 0.0, 0.5, 100) == pytest.approx(-10)
    # A floor of no right answer: it takes more than one item to be above it.
    assert errors_above(1 / 50, 0.02, 0.0, 50) < 2 < errors_above(3 / 50, 0.03, 0.0, 50)
    # Parts of a task that weigh more than others widen the error of the floor as they do the score's.
    assert errors_above(0.8, 0.08, 0.5, 100) == pytest.approx(0.3 / (0.05 * 2))


def test_one_answer_moves_a_coefficient_as_far_as_its_step_at_most():
    gold = np.repeat([1, 0], (721, 322))
    constant = np.ones(1043, int)
    one_other = np.where(np.arange(1043) == 1042, 0, constant)
    moved = matthews_corrcoef(gold, one_other) - matthews_corrcoef(gold, constant)
    assert coefficient_step(0.0, 721, 322) == pytest.approx(moved)
    assert moved == pytest.approx(0.046, abs=5e-4)
    generator = np.random.default_rng(5)
    for share in (0.02, 0.2, 0.5):
        said = np.where(generator.random(1043) < share, gold, constant)
        value = matthews_corrcoef(gold, said)
        step = coefficient_step(value, 721, 322)
        assert step < 0.02, "it is the answers of few that one more moves"
        for at in generator.choice(1043, 40):
            turned = np.where(np.arange(1043) == at, 1 - said, said)
            assert abs(matthews_corrcoef(gold, turned) - value) <= step + 1e-12


def test_the_standard_error_of_a_share_and_of_a_balanced_coefficient_is_that_of_repeated_tests():
    generator = np.random.default_rng(3)
    right = generator.random((4000, 200)) < 0.7
    assert standard_error(0.7, 200) == pytest.approx(right.mean(axis=1).std(), rel=0.05)
    gold = np.arange(200) % 2 == 0
    answers = np.where(right, gold, ~gold)
    coefficients = [np.corrcoef(gold, answer)[0, 1] for answer in answers]
    assert standard_error(0.4, 200, -1.0) == pytest.approx(np.std(coefficients), rel=0.08)
    assert standard_error(1.0, 10) == 0
    for value, n, lowest in ((0.5, 0, 0), (65, 10, 0), (-0.1, 9, 0)):
        with pytest.raises(ValueError, match="expected fractions"):
            standard_error(value, n, lowest)
