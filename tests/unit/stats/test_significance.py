"""Tests of significance against scipy, by hand, and by how often they raise a false alarm."""

import numpy as np
import pytest
from scipy.stats import binomtest, false_discovery_control, norm

from tests.unit.stats.random_scores import SEEDS
from workflow_scripts.stats.significance import holm, mcnemar, z_test


@pytest.mark.parametrize("seed", SEEDS)
def test_mcnemar_is_the_binomial_test_of_the_items_that_differ(seed):
    generator = np.random.default_rng(seed)
    first = generator.random(80) < 0.6
    second = generator.random(80) < 0.4 + 0.05 * seed / 4
    b, c, p = mcnemar(first.tolist(), second)
    assert b == sum(f and not s for f, s in zip(first, second, strict=True))
    assert c == sum(s and not f for f, s in zip(first, second, strict=True))
    assert p == pytest.approx(binomtest(b, b + c).pvalue)
    assert mcnemar(second, first) == (c, b, pytest.approx(p))


def test_z_has_the_right_share_of_false_alarms():
    generator = np.random.default_rng(5)
    first, second = generator.normal(0.5, [[0.02], [0.03]], size=(2, 20_000))
    z, p = z_test(first - second, np.full(20_000, np.hypot(0.02, 0.03)))
    assert (p < 0.05).mean() == pytest.approx(0.05, abs=0.006)
    z, p = z_test(0.1, 0.05)
    assert z == pytest.approx(2.0)
    assert p == pytest.approx(2 * (1 - norm.cdf(2)))


@pytest.mark.parametrize("seed", SEEDS)
def test_holm_is_the_step_down_procedure(seed):
    generator = np.random.default_rng(seed)
    p = generator.random(12) ** 4
    corrected = holm(p)
    for level in (0.01, 0.05, 0.2, 0.5):
        rejected = set()
        for step, at in enumerate(np.argsort(p)):
            if p[at] > level / (len(p) - step):
                break
            rejected.add(at)
        assert set(np.flatnonzero(corrected <= level)) == rejected
    assert (corrected >= false_discovery_control(p) - 1e-12).all(), "stricter than the rate"


def test_holm_leaves_tests_that_were_not_made_out_of_the_count():
    assert holm([0.02, np.nan, 0.03]).tolist() == [0.04, pytest.approx(np.nan, nan_ok=True), 0.04]
    assert holm([]).tolist() == []
