"""Ranks and their ranges."""

import numpy as np
import pandas as pd

from tests.unit.stats.random_scores import format_with_errors, published_scores, random_scores
from workflow_scripts.stats.principal import principal_components
from workflow_scripts.stats.ranks import rank_ranges, ranks, tiers


def test_a_copy_of_a_model_shares_its_rank():
    """Each model of the published table, beside itself: the sums of its component round otherwise."""
    scores = published_scores()
    for at in range(len(scores)):
        twins = scores.iloc[[*range(len(scores)), at]].reset_index(drop=True)
        found = ranks(principal_components(twins).scores["PC1"])
        assert found.iloc[at] == found.iloc[-1]
        assert found.nunique() == len(scores)
        if at % 20 == 0:
            unmoved = rank_ranges(format_with_errors(twins, twins * 0), draws=2)[["low", "high"]]
            assert (unmoved.loc[at] == unmoved.loc[len(scores)]).all()


def test_joint_ranges_hold_all_ranks_at_once_as_often_as_they_say():
    truth = random_scores(4, models=14, tasks=8, digits=6)
    true_ranks = ranks(principal_components(truth).scores["PC1"])
    generator = np.random.default_rng(3)
    alone, jointly = [], []
    for at in range(100):
        scores = truth + 0.15 * generator.standard_normal(truth.shape)
        found = rank_ranges(format_with_errors(scores, truth * 0 + 0.15), draws=100, seed=at)
        alone.append(true_ranks.between(found["low"], found["high"]).all())
        jointly.append(true_ranks.between(found["joint_low"], found["joint_high"]).all())
    assert np.mean(alone) < np.mean(jointly), "one by one they do not hold together"
    assert np.mean(jointly) >= 0.9


def test_a_tier_ends_where_a_best_rank_is_worse_than_the_worst_of_its_first():
    low = pd.Series([1.0, 1, 3, 4, 6], index=list("abcde"))
    high = pd.Series([2.0, 3, 5, 6, 6], index=list("abcde"))
    assert tiers(low, high).to_dict() == {"a": 1, "b": 1, "c": 2, "d": 2, "e": 3}
