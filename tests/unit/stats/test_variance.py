"""Components of variance: what was put in is found again, and how many tasks a mean needs is what splits show."""

import numpy as np
import pandas as pd
import pytest

from tests.unit.stats.random_scores import SEEDS, random_scores
from workflow_scripts.stats.variance import of_rerun, unexplained, variance_of

MODELS, TASKS = 30, 16
TRUE = {"model": 0.4, "together": 0.3, "items": 0.2, "training": 0.1}


def simulated(seed: int, gaps: float = 0.0) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Scores of known components, in units of their own for each task, their errors, and a second run."""
    generator = np.random.default_rng(seed)
    unit = generator.uniform(0.5, 20, TASKS)

    def drawn(part: str, *shape: int) -> np.ndarray:
        return np.sqrt(TRUE[part]) * generator.standard_normal(shape)

    cell = (MODELS, TASKS)
    shared = drawn("model", MODELS, 1) + drawn("together", *cell) + drawn("items", *cell)
    shared = shared + 5 * generator.standard_normal(TASKS)
    first, second = (pd.DataFrame(unit * (shared + drawn("training", *cell))) for _ in range(2))
    second = second + unit * generator.standard_normal(TASKS)  # a shift of whole tasks
    lost = generator.random(cell) < gaps
    errors = pd.DataFrame(np.broadcast_to(unit * np.sqrt(TRUE["items"]), cell))
    return first.mask(lost), errors, second


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_the_components_that_were_put_in_are_found_without_bias(gaps):
    found = []
    for seed in range(200):
        scores, errors, second = simulated(seed, gaps)
        found.append(variance_of(scores, errors, of_rerun(scores, second)).shares)
    means, spreads = pd.DataFrame(found).mean(), pd.DataFrame(found).std()
    for part, true in TRUE.items():
        # To a fiftieth, which the ratio to the spread of few models is off by, and what 200 draws leave.
        assert means[part] == pytest.approx(true, abs=0.02 + 3 * spreads[part] / 200**0.5), part


def test_the_reliability_is_the_correlation_of_means_over_other_tasks():
    generator = np.random.default_rng(0)
    agreed, said = [], []
    for seed in range(60):
        scores, errors, _ = simulated(seed)
        halves = np.split(generator.permutation(TASKS), 2)
        standard = (scores - scores.mean()) / scores.std()
        one, other = (standard[half].mean(axis=1) for half in halves)
        agreed.append(np.corrcoef(one, other)[0, 1])
        said.append(variance_of(scores, errors).reliability(TASKS // 2))
    assert np.mean(said) == pytest.approx(np.mean(agreed), abs=0.02)


def test_without_missing_cells_it_is_the_textbooks_analysis_of_variance():
    scores = random_scores(0, models=8, tasks=5).astype(float)
    standard = ((scores - scores.mean()) / scores.std()).to_numpy()
    means = standard.mean(axis=1)
    between = 5 * means.var(ddof=1)
    rest = ((standard - means[:, None]) ** 2).sum() / (7 * 4)
    found = variance_of(scores, scores * np.nan)
    assert found.left == pytest.approx(rest)
    assert found.model == pytest.approx((between - rest) / 5)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_unexplained_is_what_least_squares_on_models_and_tasks_leaves(seed):
    scores = random_scores(seed, 12, 5, gaps=0.4, digits=3).to_numpy(copy=True)
    if seed % 2:  # two parts that no score joins
        scores[:6, :2], scores[6:, 2:] = np.nan, np.nan
    rows, columns = np.nonzero(~np.isnan(scores))
    design = np.hstack([np.eye(12)[rows], np.eye(5)[columns]])
    effects, _, rank, _ = np.linalg.lstsq(design, scores[rows, columns], rcond=None)
    rest = ((scores[rows, columns] - design @ effects) ** 2).sum()
    assert unexplained(scores) == pytest.approx(rest / (len(rows) - rank))
