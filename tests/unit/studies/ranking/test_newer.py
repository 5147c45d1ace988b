"""Newer models beside older ones: the fit against scipy's, and against what was printed of the same scores."""

import numpy as np
import pytest
from scipy.optimize import curve_fit

from tests.unit.studies.published.published_study import newer_table
from tests.unit.studies.ranking.test_strangers_grid import read_stranger, stranger  # noqa: F401
from workflow_scripts.studies.ranking import newer

TYPED_IN = ("arc_challenge", "arc_challenge_mc", "hellaswag", "hellaswag_mc")


def hinge(about, slope, knee, step):
    logs, of_newer = about
    return slope * np.maximum(logs - knee, 0) + step * of_newer


@pytest.fixture(scope="module")
def fits():
    return newer_table().groupby(["protocol", "task"]).first()


@pytest.mark.parametrize("seed", range(6))
def test_the_fit_is_the_least_that_scipy_finds_from_many_starts(seed):
    rng = np.random.default_rng(seed)
    logs = rng.uniform(20, 24, 40).round(2)
    of_newer = rng.integers(0, 2, 40)
    above = hinge((logs, of_newer), 0.15, rng.uniform(20.5, 23), 0.06) + rng.normal(0, 0.05, 40)
    found = newer.fit(logs, of_newer, above)
    squares = np.square(above - hinge((logs, of_newer), *map(found.get, ("slope", "knee", "step"))))
    least = None
    for start in np.linspace(20, 23.5, 8):
        theirs, spread = curve_fit(hinge, (logs, of_newer), above, [0.1, start, 0.0], maxfev=5000)
        sum_of_them = np.square(above - hinge((logs, of_newer), *theirs)).sum()
        if least is None or sum_of_them < least[0]:
            least = sum_of_them, theirs, spread
    assert squares.sum() <= least[0] + 1e-9
    if squares.sum() > least[0] - 1e-7 and np.abs(logs - found["knee"]).min() > 1e-3:
        assert found["step"] == pytest.approx(least[1][2], abs=1e-5)
        assert found["stderr"] == pytest.approx(np.sqrt(least[2][2, 2]), rel=1e-3)


def test_the_steps_are_those_that_the_authors_print(fits):
    printed = fits.dropna(subset=["printed"])
    assert len(printed) == 22
    ours = printed["step"].round(3)
    apart = (ours - printed["printed"]).abs() > 1e-9
    # Those of two benchmarks were typed in, and their search stopped short on a third.
    assert {task for _, task in printed.index[apart]} == {*TYPED_IN, "leaderboard_mmlu_pro"}
    assert ours["after_mmluaux", "leaderboard_mmlu_pro"] == 0.023
    assert ours["direct", "mmlu"] == 0.068 and ours["direct", "gsm8k"] == 0.168


def test_mmlu_explains_what_they_print_and_scores_after_training_are_floored(fits):
    explained = fits["explained"].round(3)
    assert explained["direct", "mmlu"] == 0.940 and explained["after_mmluaux", "mmlu"] == 0.990
    assert explained["direct", "gsm8k"] == 0.908 and explained["after_gsm8kaux", "gsm8k"] == 0.957
    values = newer_table().pivot(index=["task", "model"], columns="protocol", values="value")
    after = values["after_mmluaux"].fillna(values["after_gsm8kaux"]).dropna()
    assert len(after) > 700 and (after >= values["direct"][after.index]).all()
