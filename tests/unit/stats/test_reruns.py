"""The error model: how far reruns lie apart, and how items move several scores, against simulations."""

import numpy as np
import pandas as pd
import pytest

from tests.unit.stats.random_scores import build_score_errors, make_random_scores
from workflow_scripts.render.verdict import BY_LUCK
from workflow_scripts.stats.item_errors import append_unmeasured_models, build_measured_errors
from workflow_scripts.stats.reruns import (
    compute_rerun_differences,
    estimate_rerun_errors,
    subtract_task_lines,
)
from workflow_scripts.stats.score_errors import ScoreErrors

# Differences of tasks, and how strongly whole tasks move, as in the published pair.
SIZES = np.geomspace(0.004, 0.04, 24)


def simulate(generator: np.random.Generator, df: float) -> pd.DataFrame:
    """Simulate the differences of two runs of one protocol: a part that moves the task, and one of each training."""
    task = 0.4 * generator.standard_normal(24)
    return pd.DataFrame(SIZES * (task + 0.6 * generator.standard_t(df, (61, 24))))


def test_rerun_false_alarm_rate():
    """Estimate errors from one pair of runs, and judge another rerun by them."""
    exceeding = []
    for seed in range(6):
        generator, df = np.random.default_rng(seed), (2.5, 5)[seed % 2]
        pair = simulate(generator, df)
        reruns = estimate_rerun_errors(pair.mask(generator.random(pair.shape) < 0.25))
        rerun = simulate(generator, df)
        exceeding.append((rerun.abs() > [reruns.most(task, 0) for task in rerun]).to_numpy().mean())
    assert 0.5 * BY_LUCK < np.mean(exceeding) <= 1.2 * BY_LUCK


def test_subtract_task_lines():
    generator = np.random.default_rng(4)
    truth = 0.5 + 0.2 * generator.standard_normal((61, 24))
    noise = SIZES * 0.6 * generator.standard_t(5, (2, 61, 24))
    first, second = (pd.DataFrame(truth + part) for part in noise)
    moved = first * generator.uniform(0.8, 1.2, 24) + generator.normal(0, 0.05, 24)
    moved.loc[3, 5] -= 0.4  # which did not learn
    rest = subtract_task_lines(moved - second, (moved + second) / 2)
    spread = rest.drop(index=3).std() / (noise[0] - noise[1]).std(axis=0)
    assert spread.to_numpy() == pytest.approx(1, abs=0.2)
    assert rest.loc[3, 5] == pytest.approx(-0.4, abs=0.1)


def test_rerun_differences_exclude_floor_scores():
    first, second, floor = (
        pd.DataFrame({"task": values})
        for values in ([0.50, 0.60, 0.40, 0.71], [0.52, 0.60, 0.43, 0.70], [0.30, 0.30, 0.40, 0.30])
    )
    differences = compute_rerun_differences(first, second, floor)["task"]
    assert differences.to_list() == pytest.approx([-0.02, np.nan, np.nan, 0.01], nan_ok=True)


def test_sample_and_difference_variances():
    errors = build_measured_errors(np.random.default_rng(0).normal(size=(4, 90)), np.full(4, 95.0))
    normal = np.random.default_rng(1).normal(size=(20_000, 2, 4))
    samples = np.array([errors.drawn(common, own) for common, own in normal])
    covariance = errors.shared @ errors.shared.T + np.diag(errors.own**2)
    assert np.cov(samples.T) == pytest.approx(covariance, abs=3)
    first, second = np.triu_indices(4, 1)
    expected = (samples[:, first] - samples[:, second]).var(axis=0)
    assert errors.compute_difference_variance(first, second) == pytest.approx(expected, rel=0.04)


def test_unmeasured_models_use_assumed_correlation():
    generator = np.random.default_rng(5)
    influences = generator.normal(size=(1, 300)) + 0.8 * generator.normal(size=(6, 300))
    errors = append_unmeasured_models(
        build_measured_errors(influences, np.zeros(6)), np.array([20.0, 10.0, np.nan]), 0.36
    )
    assert errors.variances[6:] == pytest.approx([400, 100, np.nan], nan_ok=True)
    assert errors.shared[6] @ errors.shared[7] == pytest.approx(0.36 * 200)


def test_mean_difference_stderr_matches_samples():
    scores = make_random_scores(6, models=4, tasks=12, digits=6)
    scores.iloc[1, :5] = np.nan
    items = build_score_errors(scores, scores * 0 + 0.2, correlation=0.5).items
    errors = ScoreErrors(scores, items, scores.abs() * 0 + 0.3)
    first, second = np.array([0, 1, 2]), np.array([3, 2, 0])
    samples = np.array(list(errors.drawn(1000, 0)))
    spread = np.nanmean(samples[:, first] - samples[:, second], axis=2).std(axis=0)
    assert errors.compute_mean_difference_stderrs(first, second) == pytest.approx(spread, rel=0.1)
