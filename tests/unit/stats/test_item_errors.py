"""Errors that models share: against plain draws, and against the released items."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.unit.stats.random_scores import format_with_errors, random_scores
from workflow_scripts.stats.item_errors import (
    assumed_errors,
    measured_errors,
    with_others,
)
from workflow_scripts.stats.score_errors import ScoreErrors

ITEMS = Path(__file__).parents[3] / "resources/published/items"


def correlation_of(right: np.ndarray) -> float:
    """The median over pairs of models (rows) of how their right answers correlate over the items."""
    matrix = np.corrcoef(right[right.std(axis=1) > 0].astype(float))
    return float(np.median(matrix[np.triu_indices(len(matrix), 1)]))


def covariance(errors) -> np.ndarray:
    return errors.shared @ errors.shared.T + np.diag(errors.own**2)


def test_draws_have_the_covariance_and_differences_the_errors_that_they_say():
    errors = measured_errors(np.random.default_rng(0).normal(size=(4, 90)), np.full(4, 95.0))
    generator = np.random.default_rng(1)
    drawn = np.array(
        [errors.drawn(generator.normal(size=4), generator.normal(size=4)) for _ in range(20_000)]
    )
    assert np.cov(drawn.T) == pytest.approx(covariance(errors), abs=3)
    first, second = np.triu_indices(4, 1)
    expected = (drawn[:, first] - drawn[:, second]).var(axis=0)
    assert errors.of_difference(first, second) == pytest.approx(expected, rel=0.04)
    assert errors.of_difference(np.array([2]), np.array([2])) == 0


def test_models_without_items_go_together_with_the_others_by_the_correlation_that_is_assumed():
    generator = np.random.default_rng(5)
    influences = generator.normal(size=(1, 300)) + 0.8 * generator.normal(size=(6, 300))
    measured = measured_errors(influences, np.zeros(6))
    found = with_others(measured, np.array([20.0, 10.0, np.nan]), 0.36)
    assert found.variances[6:8] == pytest.approx([400, 100])
    assert np.isnan(found.variances[8])
    of_two = (found.shared[6] @ found.shared[7]) / 200
    assert of_two == pytest.approx(0.36)
    assert covariance(assumed_errors(np.array([2.0, 1.0]), 0.36))[0, 1] == pytest.approx(0.72)


def test_the_error_of_a_mean_over_tasks_is_that_of_what_is_drawn():
    scores = random_scores(6, models=4, tasks=12, digits=6)
    scores.iloc[1, :5] = np.nan
    items = format_with_errors(scores, scores * 0 + 0.2, correlation=0.5).items
    errors = ScoreErrors(scores, items, scores.abs() * 0 + 0.3)
    first, second = np.array([0, 1, 2]), np.array([3, 2, 0])
    drawn = np.array(list(errors.drawn(3000, 0)))
    spread = np.nanmean(drawn[:, first] - drawn[:, second], axis=2).std(axis=0)
    assert errors.of_mean_differences(first, second) == pytest.approx(spread, rel=0.05)


def test_the_correlations_are_those_of_the_released_items():
    known = pd.read_csv(ITEMS / "correlations.csv").set_index("task")
    files = {path.stem: path for path in ITEMS.glob("*.parquet")}
    assert set(known.index) == {{"gsm": "gsm8k"}.get(name, name) for name in files}
    for name in ("arc_challenge", "rte", "gsm"):
        right = np.array(pd.read_parquet(files[name])["right"].to_list())
        row = known.loc[{"gsm": "gsm8k"}.get(name, name)]
        assert (row["models"], row["items"]) == right.shape
        assert row["correlation"] == pytest.approx(correlation_of(right), abs=5e-4)
