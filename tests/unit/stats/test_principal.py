"""Principal components: the published leaderboard, and scikit-learn on random scores."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from tests.unit.stats.random_scores import SEEDS, published, published_scores, random_scores
from workflow_scripts.stats.principal import (
    component_loadings,
    principal_components,
)
from workflow_scripts.stats.ranks import ranks

SWAPPED = ["01-ai/Yi-1.5-6B", "01-ai/Yi-1.5-6B-Chat"]


def test_the_published_leaderboard_follows_from_its_24_columns():
    found = principal_components(published_scores())
    pc1 = found.scores["PC1"]
    assert (pc1 - published()["pc1"]).abs().max() < 0.1
    differing = ranks(pc1).ne(published()["rank"])
    assert sorted(differing.index[differing]) == SWAPPED
    assert pc1[SWAPPED].diff().abs().max() < 0.04
    assert found.explained_variance_ratio["PC1"] == pytest.approx(0.8546, abs=5e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_components_are_scikit_learns_up_to_their_sign(seed):
    scores = random_scores(seed, models=15, tasks=6)
    standard = (scores - scores.mean()) / scores.std(ddof=0)
    reference = PCA().fit(standard)
    found = principal_components(scores)
    assert found.explained_variance_ratio.tolist() == pytest.approx(
        reference.explained_variance_ratio_
    )
    theirs = 100 * reference.transform(standard)
    assert np.abs(found.scores.to_numpy()) == pytest.approx(np.abs(theirs), abs=1e-8)
    loadings = component_loadings(scores)
    assert (loadings.sum() > 0).all(), "better on most tasks is larger"
    assert (100 * standard @ loadings).to_numpy() == pytest.approx(found.scores.to_numpy())
