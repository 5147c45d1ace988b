"""Compare significance tests and proportions with scipy and scikit-learn, and check their power."""

import numpy as np
import pytest
from scipy.stats import binomtest, norm, t
from sklearn.metrics import matthews_corrcoef

from workflow_scripts.stats.proportions import (
    compute_baseline_z,
    compute_mcc_step,
    compute_wilson_interval,
)
from workflow_scripts.stats.significance import (
    compute_detectable_z,
    correct_by_holm,
    estimate_difference,
    run_mcnemar_test,
    run_z_test,
)


def test_mcnemar_and_z_test():
    first, second = np.random.default_rng(0).random((2, 80)) < [[0.6], [0.4]]
    b, c = (first & ~second).sum(), (second & ~first).sum()
    assert run_mcnemar_test(first, second) == (b, c, pytest.approx(binomtest(b, b + c).pvalue))
    z, p = run_z_test(np.array([0.1, 0.0, 0.1, 0.1]), np.array([0.05, 0.0, 0.0, np.nan]))
    assert z == pytest.approx([2, 0, np.nan, np.nan], nan_ok=True)
    assert p == pytest.approx([2 * norm.sf(2), 1, np.nan, np.nan], nan_ok=True)


def test_holm_corrects_step_down():
    corrected = correct_by_holm([0.01, 0.04, np.nan, 0.02, 0.5, 0.03])
    # In rising order, p-values are multiplied by 5, 4, 3, 2 and 1, and never decrease.
    expected = [0.05, 0.09, np.nan, 0.08, 0.5, 0.09]
    assert corrected == pytest.approx(expected, nan_ok=True)


def test_difference_interval_and_detectable_size():
    result = estimate_difference(0.02, 0.01)
    assert result["low"] == pytest.approx(0.02 - 0.0195996, abs=1e-6)
    assert result["detectable"] == pytest.approx((1.959964 + 0.841621) * 0.01)
    result = estimate_difference(-0.02, 0.01, df=3)
    assert result["high"] == pytest.approx(-0.02 + t.ppf(0.975, 3) * 0.01)
    assert np.isnan(estimate_difference(0.02, np.nan)["detectable"])


@pytest.mark.parametrize("df", [1, 23])
def test_detectable_difference_has_stated_power(df):
    generator = np.random.default_rng(1)
    samples = generator.standard_normal(4000) + compute_detectable_z(df)
    samples /= np.sqrt(generator.chisquare(df, 4000) / df)
    assert (samples > t.ppf(0.975, df)).mean() == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("n", [1, 7, 5463])
def test_wilson_interval_matches_scipy(n):
    for right in {0, 1, n // 3, n}:
        low, high = compute_wilson_interval(right / n, n)
        expected = binomtest(right, n).proportion_ci(method="wilson")
        # Ours uses 1.96, scipy 1.95996...
        assert (low, high) == pytest.approx((expected.low, expected.high), abs=2e-5)
        assert 0 <= low <= right / n <= high <= 1 and low < high


@pytest.mark.parametrize(
    ("value", "error", "baseline", "n", "expected"),
    [
        (1.0, 0.0, 0.5, 100, 10),
        (0.8, 0.08, 0.5, 100, 3),  # unequal weights of its parts increase both errors
        (0.8, 0.1, 0.5, np.nan, 3),
        (0.8, 0.0, 0.5, np.nan, np.nan),
    ],
)
def test_baseline_z(value, error, baseline, n, expected):
    assert compute_baseline_z(value, error, baseline, n) == pytest.approx(expected, nan_ok=True)


def test_mcc_step_bounds_each_answer():
    gold, generator = np.repeat([1, 0], (721, 322)), np.random.default_rng(5)
    other = np.append(np.ones(1042, int), 0)
    assert compute_mcc_step(0.0, 721, 322) == pytest.approx(matthews_corrcoef(gold, other))
    for share in (0.02, 0.5):
        answers = np.where(generator.random(1043) < share, gold, 1)
        value = matthews_corrcoef(gold, answers)
        step = compute_mcc_step(value, 721, 322)
        for item in generator.choice(1043, 20):
            turned = np.where(np.arange(1043) == item, 1 - answers, answers)
            assert abs(matthews_corrcoef(gold, turned) - value) <= step + 1e-12
