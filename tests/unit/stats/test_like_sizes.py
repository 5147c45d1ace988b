"""Models of like size: which pairs and bands they are, and tau-b over these pairs alone."""

import numpy as np
import pandas as pd
import pytest

from tests.unit.stats.random_scores import SEEDS, random_scores
from workflow_scripts.stats import like_sizes
from workflow_scripts.stats.agreement import kendall_matrix
from workflow_scripts.stats.like_sizes import (
    LikePairs,
    bands,
    kendall_of_pairs,
    like_pairs,
)

CLUSTERS = np.repeat([1e9, 4e9, 16e9], 4)


def sizes(*billions) -> pd.Series:
    return pd.Series(1e9 * np.array(billions), [f"m{at}" for at in range(len(billions))])


def test_a_band_holds_its_lower_end_and_not_its_upper_one():
    found = bands(sizes(5, 5, 6, 7, 9, 9.99, 10, 10, 10, 10, 10, np.nan))
    assert [(band.low, band.high, len(band.models)) for band in found] == [(5e9, 10e9, 6)]
    six = bands(sizes(*[0.0006] * 6))
    assert six[0].low <= 6e5 < six[0].high == 2 * six[0].low, "tiny worlds have bands too"


def test_a_size_that_is_none_is_one_sentence():
    with pytest.raises(ValueError, match="parameters of 'm1' is 0; expected a number above 0"):
        bands(sizes(1, 0))


def test_models_are_of_like_size_up_to_a_factor_of_two_and_unknown_ones_of_none():
    like = like_pairs(sizes(1, 2, 4.1, np.nan))
    assert (like.first.tolist(), like.second.tolist(), like.total) == ([0], [1], 1)


def test_of_many_pairs_of_like_size_some_are_drawn_and_all_are_counted(monkeypatch):
    drawn = np.random.default_rng(0)
    parameters = pd.Series(np.exp(drawn.uniform(0, 8, 90)))
    parameters[drawn.random(90) < 0.1] = np.nan
    size = np.log(parameters.to_numpy())
    like = np.abs(np.subtract.outer(size, size)) <= np.log(2)
    whole = like_pairs(parameters)
    pairs = set(map(frozenset, zip(whole.first, whole.second, strict=True)))
    assert pairs == {frozenset(pair) for pair in np.argwhere(np.triu(like, 1)).tolist()}
    assert whole.total == len(pairs) == len(whole.first)
    monkeypatch.setattr(like_sizes, "MOST_PAIRS", 50)
    some = like_pairs(parameters)
    assert (some.total, len(some.first)) == (whole.total, 50)
    assert set(map(frozenset, zip(some.first, some.second, strict=True))) < pairs


@pytest.mark.parametrize("seed", SEEDS)
def test_over_all_pairs_it_is_kendalls_tau_b_whatever_is_missing_or_tied(seed):
    scores = random_scores(seed, gaps=0.2)
    every = LikePairs(*np.triu_indices(len(scores), 1), 0)
    pd.testing.assert_frame_equal(kendall_of_pairs(scores, every), kendall_matrix(scores))


def test_what_only_size_ranks_alike_does_not_agree_among_models_of_like_size():
    generator = np.random.default_rng(0)
    size = np.log(CLUSTERS)[:, None]
    scores = pd.DataFrame(size + 0.1 * generator.standard_normal((12, 30)))
    pairs = like_pairs(pd.Series(CLUSTERS))
    off = np.triu_indices(30, 1)
    assert kendall_matrix(scores).to_numpy()[off].mean() > 0.7
    assert abs(kendall_of_pairs(scores, pairs).to_numpy()[off].mean()) < 0.05
