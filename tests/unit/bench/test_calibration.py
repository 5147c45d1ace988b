"""The most important rows of `make bench-calibration`, small: what is printed holds about as often as it says."""

import numpy as np
import pytest

from bench import calibration_items, calibration_models, calibration_rankings
from bench.held import Held, printed


def found(rows: list[Held], what: str) -> dict[str, tuple[float, ...]]:
    return {row.case: row.shares for row in rows if row.what == what}


@pytest.mark.parametrize("task", ["arc_challenge", "musr", "rte"])
def test_differences_of_models_hold_and_equal_models_are_seldom_called_different(task):
    right, generator = calibration_items.answers(task), np.random.default_rng(2)
    draws = [calibration_items.differences(right, 300, generator) for _ in range(25)]
    held, differing = np.mean(draws, axis=0)
    assert 0.92 <= held[0] <= 0.98
    assert 0.03 <= differing[0] <= 0.075
    assert differing[1] < differing[0], "independent errors hide what the same items show"


def test_items_in_clusters_and_matthews_coefficient_are_known_for_what_they_are():
    (row,) = calibration_items.clusters(15, seed=1)
    assert max(row.shares) < 0.09
    assert row.otherwise[-1] > 0.4, "57 subjects taken for 2,280 questions"
    single, differing = calibration_items.correlations(10, seed=1)
    assert min(single.shares) > 0.9
    assert max(differing.shares) < 0.1


def test_ranks_and_agreement_hold_what_other_items_would_give():
    rows = calibration_rankings.over_items(24, seed=3)
    assert min(share for row in rows for share in row.shares) >= 0.85
    alone = found(rows, "rank ranges, each model")
    assert 0.94 <= alone.popitem()[1][0] <= 0.985


def test_trainings_differ_as_seldom_as_stated_by_family_by_size_and_in_the_mean():
    rows = calibration_models.rows(1)
    again = found(rows, "a score trained again differs")
    assert 0.04 <= again.pop("61 models, 24 tasks")[0] <= 0.06
    assert len(again) == 10
    assert max(share for (share,) in again.values()) <= 0.08
    apart = found(rows, "two models are otherwise apart when trained again")
    # Two errors above the 8 that are asked; docs/benchmarks.md says what it is.
    assert apart["in the mean of the tasks"][0] <= 0.08 + 2 * 0.036


def test_what_is_out_of_range_is_marked():
    rows = [
        Held("intervals", "two cases", (0.95, 0.9), otherwise=(0.5, 1.0)),
        Held("b", "c", (0.05,), (0.0, 0.08)),
    ]
    assert printed(rows).splitlines()[2:] == [
        "| intervals | two cases | 95.0 / 90.0* | 93 to 97 | 50.0 / 100.0 |",
        "| b | c | 5.0 | at most 8 |  |",
    ]
