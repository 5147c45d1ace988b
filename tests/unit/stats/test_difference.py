"""The difference of two models: its interval, and that what is detectable is shown four times in five."""

import math

import numpy as np
import pytest
from scipy.stats import t

from workflow_scripts.stats.difference import compute_detectable_z, estimate_difference

DRAWS = 4000
CLOSE = 0.03  # four standard errors of a share of 80% in so many draws, and what rounding up adds


@pytest.mark.parametrize(
    ("stderr", "freedom", "half", "detectable"),
    [
        (0.01, math.inf, 0.0195996, 0.02801585),
        (0.01, 3, 0.03182446, None),
        (0.0, math.inf, 0.0, 0.0),
        (math.nan, math.inf, math.nan, math.nan),
        (0.01, 0, math.nan, math.nan),  # one task has no spread
    ],
)
def test_a_difference_has_an_interval_where_its_error_is_known(stderr, freedom, half, detectable):
    row = estimate_difference(0.02, stderr, freedom)
    ends = pytest.approx((0.02 - half, 0.02 + half), abs=1e-6, nan_ok=True)
    assert (row["low"], row["high"]) == ends
    if detectable is not None:
        assert row["detectable"] == pytest.approx(detectable, abs=1e-6, nan_ok=True)


@pytest.mark.parametrize("freedom", [1, 2, 4, 23, math.inf])
def test_what_is_detectable_is_shown_four_times_in_five(freedom):
    draws = np.random.default_rng(1).standard_normal(DRAWS) + compute_detectable_z(freedom)
    if math.isfinite(freedom):
        draws /= np.sqrt(np.random.default_rng(2).chisquare(freedom, DRAWS) / freedom)
    assert (draws > t.ppf(0.975, freedom)).mean() == pytest.approx(0.8, abs=CLOSE)
