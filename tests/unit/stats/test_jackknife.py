"""Intervals over families of models: how often they hold."""

import numpy as np
import pandas as pd
import pytest

from workflow_scripts.stats.agreement import mean_agreement
from workflow_scripts.stats.jackknife import over_families


@pytest.mark.parametrize("share", [0.0, 0.2, 0.4])
def test_an_interval_over_families_holds_as_often_as_it_says(share):
    """Models are as alike as their family is, by a share of the variance; the families of the published grid."""
    families = np.repeat(np.arange(6), (26, 8, 8, 8, 7, 4))
    generator = np.random.default_rng(int(10 * share))

    def measured() -> pd.DataFrame:
        def drawn(tasks: int) -> np.ndarray:
            of_family, own = generator.standard_normal((2, len(families), tasks))
            return share**0.5 * of_family[families] + (1 - share) ** 0.5 * own

        return pd.DataFrame(drawn(1) + drawn(5))

    found, values = [], []
    for _ in range(150):
        scores = measured()
        reach = over_families(
            lambda kept, scores=scores: np.array(mean_agreement(scores[kept])),
            pd.Series(families),
        )
        values.append(mean_agreement(scores))
        found.append((reach.low, reach.high))
    truth = float(np.mean(values))
    held = np.mean([low <= truth <= high for low, high in found])
    assert 0.88 <= held <= 0.99


def test_too_few_families_are_told_and_models_of_no_family_stand_by_themselves():
    def mean(kept: np.ndarray) -> np.ndarray:
        return np.array(np.arange(5.0)[kept].mean())

    one = over_families(mean, pd.Series(["Qwen"] * 5))
    assert (one.groups, one.of) == (5, "models")
    assert one.low < 2 < one.high
    unknown = over_families(mean, pd.Series(["Qwen", None, None, "Yi", "Yi"]))
    assert (unknown.groups, unknown.of) == (4, "families")
    two = over_families(lambda kept: np.array(1.0), pd.Series(["Qwen", "Yi"]))
    assert np.isnan([two.low, two.high]).all(), "two models are one pair"
