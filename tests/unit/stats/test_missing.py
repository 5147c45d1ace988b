"""Estimates of missing cells, held against the cells of the published scores that were taken out."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from tests.unit.stats.random_scores import LEADERBOARD, format_with_errors
from workflow_scripts.stats.missing import Completed, complete
from workflow_scripts.stats.principal import principal_components
from workflow_scripts.stats.ranks import rank_ranges

TIMES = 20
CASES = [("direct", 0.05), ("train_before_test", 0.2)]


@cache
def published(protocol: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    long = pd.read_csv(LEADERBOARD.with_name("harmony_cells.csv"))
    of = long[(long["protocol"] == protocol) & (long["metric"] != "bits_per_byte")]
    return tuple(
        of.pivot(index="model", columns="task", values=column) for column in ("value", "stderr")
    )


@cache
def taken_out(protocol: str, share: float) -> list[tuple[np.ndarray, Completed]]:
    """Twenty times: which cells were taken out at random, and the scores completed without them."""
    scores, errors = published(protocol)
    generator, found = np.random.default_rng(1), []
    for _ in range(TIMES):
        lost = generator.random(scores.shape) < share
        found.append((lost, complete(format_with_errors(scores.mask(lost), errors.mask(lost)))))
    return found


def first(scores: pd.DataFrame) -> pd.Series:
    return principal_components(scores).scores["PC1"]


@pytest.mark.parametrize(("protocol", "share"), CASES)
def test_nineteen_of_twenty_estimates_hold_what_was_measured_in_their_interval(protocol, share):
    scores, _ = published(protocol)
    held = [
        (np.abs(found.errors.scores - scores) <= 1.96 * found.errors.stderrs).to_numpy()[lost]
        for lost, found in taken_out(protocol, share)
    ]
    coverage = np.concatenate(held).mean()
    print(f"{protocol}, {share:.0%} taken out: {coverage:.1%} of the cells in their 95% interval")
    assert 0.93 <= coverage <= 0.97


@pytest.mark.parametrize(("protocol", "share"), CASES)
def test_all_61_models_are_ranked_nearly_as_with_all_cells(protocol, share):
    scores, _ = published(protocol)
    agree, whole = [], []
    for lost, found in taken_out(protocol, share):
        assert found.errors.scores.notna().all(axis=None)
        assert (found.filled.to_numpy() == lost).all()
        pd.testing.assert_frame_equal(found.errors.scores.mask(lost), scores.mask(lost))
        agree.append(kendalltau(first(found.errors.scores), first(scores)).statistic)
        whole.append(int((~lost.any(axis=1)).sum()))
    print(f"{protocol}, {share:.0%}: tau {np.mean(agree):.3f}, without estimates {whole} models")
    assert np.mean(agree) > (0.985 if share == 0.05 else 0.965)


@pytest.mark.parametrize(("models", "tasks"), [(4, 4), (6, 8)])
def test_intervals_hold_in_small_worlds_too(models, tasks):
    generator, held = np.random.default_rng(0), []
    for _ in range(50):
        ability = generator.standard_normal((models, 1))
        scores = pd.DataFrame(ability + 0.6 * generator.standard_normal((models, tasks)))
        at = generator.integers(models), generator.integers(tasks)
        gap = scores.copy()
        gap.iloc[at] = np.nan
        found = complete(format_with_errors(gap, 0 * gap))
        held.append(
            abs(found.errors.scores.iloc[at] - scores.iloc[at])
            <= 1.96 * found.errors.stderrs.iloc[at]
        )
    assert np.mean(held) >= 0.92


def test_a_missing_standard_error_is_that_of_similar_scores_and_costs_no_range():
    scores, errors = published("train_before_test")
    generator = np.random.default_rng(0)
    lost = generator.random(errors.shape) < 0.05
    found = complete(format_with_errors(scores, errors.mask(lost)))
    ratio = (found.errors.stderrs / errors).to_numpy()[lost]
    assert np.quantile(np.abs(np.log(ratio)), 0.95) < np.log(1.2)
    assert not found.filled.any(axis=None), "no score was missing"
    assert rank_ranges(found.errors, draws=10).notna().all(axis=None)
    none = errors.copy()
    none["rte"] = np.nan
    assert complete(format_with_errors(scores, none)).errors.stderrs["rte"].isna().all(), (
        "nothing says what they are"
    )
