"""Models of like size: which pairs and bands they are, and tau-b over these pairs alone."""

import numpy as np
import pandas as pd

from workflow_scripts.stats.agreement import kendall_matrix
from workflow_scripts.stats.like_sizes import group_in_bands, pair_like


def sizes(*billions) -> pd.Series:
    return pd.Series(1e9 * np.array(billions), [f"m{at}" for at in range(len(billions))])


def test_a_band_holds_its_lower_end_and_not_its_upper_one():
    found = group_in_bands(sizes(5, 5, 6, 7, 9, 9.99, 10, 10, 10, 10, 10, np.nan))
    assert [(low, high, len(models)) for low, high, models in found] == [(5e9, 10e9, 6)]
    ((low, high, _),) = group_in_bands(sizes(*[0.0006] * 6))
    assert low <= 6e5 < high == 2 * low, "tiny worlds have bands too"


def test_what_only_size_ranks_alike_does_not_agree_among_models_of_like_size():
    parameters = np.repeat([1e9, 4e9, 16e9], 4)
    noise = np.random.default_rng(0).standard_normal((12, 30))
    scores = pd.DataFrame(np.log(parameters)[:, None] + 0.1 * noise)
    off = np.triu_indices(30, 1)
    assert kendall_matrix(scores).to_numpy()[off].mean() > 0.7
    like = kendall_matrix(scores, pair_like(pd.Series(parameters)))
    assert abs(like.to_numpy()[off].mean()) < 0.05
