"""Compare newer models with older ones: the fit with scipy's, and with what was printed of the same scores."""

import numpy as np
import pytest
from scipy.optimize import curve_fit

from tests.unit.studies.published.published_study import newer_table
from workflow_scripts.studies.ranking import newer

TYPED_IN = ("arc_challenge", "arc_challenge_mc", "hellaswag", "hellaswag_mc")


def hinge(about, slope, knee, step):
    logs, of_newer = about
    return slope * np.maximum(logs - knee, 0) + step * of_newer


@pytest.mark.parametrize("seed", range(4))
def test_fit_matches_scipy(seed):
    rng = np.random.default_rng(seed)
    about = rng.uniform(20, 24, 40).round(2), rng.integers(0, 2, 40)
    above = hinge(about, 0.15, rng.uniform(20.5, 23), 0.06) + rng.normal(0, 0.05, 40)
    fit = newer.fit(*about, above)
    squares = np.square(above - hinge(about, fit["slope"], fit["knee"], fit["step"])).sum()
    fits = [
        curve_fit(hinge, about, above, [0.1, start, 0.0], maxfev=5000)
        for start in np.linspace(20, 23.5, 8)
    ]
    least = [np.square(above - hinge(about, *numbers)).sum() for numbers, _ in fits]
    numbers, spread = fits[np.argmin(least)]
    assert squares <= min(least) + 1e-9
    if squares > min(least) - 1e-7 and np.abs(about[0] - fit["knee"]).min() > 1e-3:
        assert fit["step"] == pytest.approx(numbers[2], abs=1e-5)
        assert fit["stderr"] == pytest.approx(np.sqrt(spread[2, 2]), rel=1e-3)


def test_fit_matches_printed_steps():
    fits = newer_table().groupby(["protocol", "task"]).first()
    printed = fits.dropna(subset=["printed"])
    apart = (printed["step"].round(3) - printed["printed"]).abs() > 1e-9
    assert len(printed) == 22
    # Those of two benchmarks were typed in, and their search stopped short on a third.
    assert {task for _, task in printed.index[apart]} == {*TYPED_IN, "leaderboard_mmlu_pro"}
    explained = fits["explained"].round(3)
    assert explained["direct", "mmlu"] == 0.940 and explained["after_mmluaux", "mmlu"] == 0.990
    assert explained["direct", "gsm8k"] == 0.908 and explained["after_gsm8kaux", "gsm8k"] == 0.957
