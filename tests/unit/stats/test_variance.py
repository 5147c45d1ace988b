"""Test that variance components of simulations are recovered, and compare the residual with least squares."""

import numpy as np
import pandas as pd
import pytest

from tests.unit.stats.random_scores import make_random_scores
from workflow_scripts.stats.variance import (
    compute_residual_variance,
    decompose_variance,
    estimate_training_variance,
)

MODELS, TASKS = 30, 16
TRUE = {"model": 0.4, "together": 0.3, "items": 0.2, "training": 0.1}


def simulate(seed: int, gaps: float) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Simulate scores with known variance components and a scale per task; return scores, errors and a second run."""
    generator = np.random.default_rng(seed)
    unit, cell = generator.uniform(0.5, 20, TASKS), (MODELS, TASKS)

    def draw(part: str, *shape: int) -> np.ndarray:
        return np.sqrt(TRUE[part]) * generator.standard_normal(shape)

    shared = draw("model", MODELS, 1) + draw("together", *cell) + draw("items", *cell)
    shared = shared + 5 * generator.standard_normal(TASKS)
    first, second = (pd.DataFrame(unit * (shared + draw("training", *cell))) for _ in range(2))
    missing = generator.random(cell) < gaps
    errors = first * 0 + unit * np.sqrt(TRUE["items"])
    return first.mask(missing), errors, second + unit * generator.standard_normal(TASKS)


def test_variance_components_are_unbiased():
    shares = []
    for seed in range(30):
        scores, errors, second = simulate(seed, 0.2)
        shares.append(
            decompose_variance(scores, errors, estimate_training_variance(scores, second))
        )
    table = pd.DataFrame(shares)[list(TRUE)]
    # Tolerance: 0.02 for the bias of ratios with few models, plus the error of 30 draws.
    assert ((table.mean() - pd.Series(TRUE)).abs() <= 0.02 + 3 * table.std() / 30**0.5).all()


@pytest.mark.parametrize("seed", range(2))
def test_residual_variance_matches_least_squares(seed):
    scores = make_random_scores(seed, 12, 5, gaps=0.4, digits=3).to_numpy(copy=True)
    if seed % 2:  # two blocks without a common model or task
        scores[:6, :2], scores[6:, 2:] = np.nan, np.nan
    rows, columns = np.nonzero(~np.isnan(scores))
    design = np.hstack([np.eye(12)[rows], np.eye(5)[columns]])
    effects, _, rank, _ = np.linalg.lstsq(design, scores[rows, columns], rcond=None)
    rest = ((scores[rows, columns] - design @ effects) ** 2).sum()
    assert compute_residual_variance(scores) == pytest.approx(rest / (len(rows) - rank))
