"""Ranks and their ranges."""

import numpy as np
import pandas as pd
import pytest

from tests.unit.stats.random_scores import random_scores
from workflow_scripts.stats.principal import principal_components
from workflow_scripts.stats.ranks import rank_ranges, ranks


def test_the_best_is_first_equals_share_a_rank_and_what_is_missing_has_none():
    found = ranks(pd.Series([3.0, 9.0, 3.0, np.nan, 1.0]))
    assert found.tolist()[:3] == [2, 1, 2]
    assert np.isnan(found[3])
    assert found[4] == 4


def test_a_range_holds_the_measured_rank_and_widens_with_the_noise():
    scores = random_scores(9, models=15, tasks=6, digits=6)
    measured = ranks(principal_components(scores).scores["PC1"])
    widths = []
    for noise in (0.0, 0.2, 1.0):
        found = rank_ranges(scores, scores * 0 + noise, draws=200)
        assert (found["low"] <= measured).all()
        assert (measured <= found["high"]).all()
        assert found["low"].min() >= 1
        assert found["high"].max() <= 15
        widths.append((found["high"] - found["low"]).mean())
    assert widths[0] == 0
    assert widths[0] < widths[1] < widths[2]


def test_without_a_standard_error_no_range_is_given_and_gaps_are_refused():
    scores = random_scores(9)
    stderrs = scores * 0 + 0.1
    stderrs.iloc[0, 0] = np.nan
    assert rank_ranges(scores, stderrs, draws=10).isna().to_numpy().all()
    scores.iloc[1, 1] = np.nan
    with pytest.raises(ValueError, match="missing cells"):
        rank_ranges(scores, stderrs, draws=10)
