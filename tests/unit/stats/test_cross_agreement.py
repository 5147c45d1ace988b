"""Agreement of two kinds of measures, against SciPy's, pair by pair."""

import pytest
from scipy.stats import kendalltau, pearsonr

from tests.unit.stats.random_scores import SEEDS, random_scores
from workflow_scripts.stats.agreement import cross_agreement


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_each_cell_is_scipys_over_the_models_that_have_both(seed, gaps):
    first = random_scores(seed, models=30, tasks=3, gaps=gaps).iloc[::-1].add_prefix("text ")
    second = random_scores(seed + 1, models=24, tasks=5, gaps=gaps)
    kendall, pearson, models = cross_agreement(first, second)
    assert kendall.shape == (3, 5)
    for one in first:
        for other in second:
            both = first[[one]].join(second[[other]], how="inner").dropna()
            assert models.at[one, other] == len(both)
            expected = kendalltau(both[one], both[other]).statistic
            assert kendall.at[one, other] == pytest.approx(expected, abs=1e-12)
            expected = pearsonr(both[one], both[other]).statistic
            assert pearson.at[one, other] == pytest.approx(expected, abs=1e-12)
