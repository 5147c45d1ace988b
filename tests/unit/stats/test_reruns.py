"""Compare the error model (differences of reruns, shared items) with simulations."""

import numpy as np
import pandas as pd
import pytest

from tests.unit.stats.random_scores import build_score_errors, make_random_scores
from workflow_scripts.render.verdict import MAX_FALSE_ALARM_RATE
from workflow_scripts.stats.reruns import estimate_retraining_noise, subtract_task_lines
from workflow_scripts.stats.score_errors import ScoreErrors

UNKNOWN_MODELS = pd.DataFrame(columns=["family", "parameters"])
# Differences of reruns by task, like those of the published pair of releases.
SCALES = np.geomspace(0.004, 0.04, 24)


def simulate(generator: np.random.Generator, df: float) -> pd.DataFrame:
    """Simulate differences of two runs of one protocol: a shift per task plus noise per training run."""
    task = 0.4 * generator.standard_normal(24)
    return pd.DataFrame(SCALES * (task + 0.6 * generator.standard_t(df, (61, 24))))


def test_rerun_false_alarm_rate():
    """Estimate errors from one pair of runs, and count the false alarms for another rerun."""
    alarm_rates = []
    for seed in range(3):
        generator = np.random.default_rng(seed)
        df = (2.5, 5)[seed % 2]
        pair = simulate(generator, df)
        pair = pair.mask(generator.random(pair.shape) < 0.25)
        noise = estimate_retraining_noise(pair, UNKNOWN_MODELS)
        rerun = simulate(generator, df)
        limits = [noise.compute_limit(task, 0) for task in rerun]
        alarm_rates.append((rerun.abs() > limits).to_numpy().mean())
    assert 0.5 * MAX_FALSE_ALARM_RATE < np.mean(alarm_rates) <= 1.2 * MAX_FALSE_ALARM_RATE


def test_subtract_task_lines():
    generator = np.random.default_rng(4)
    truth = 0.5 + 0.2 * generator.standard_normal((61, 24))
    noise = SCALES * 0.6 * generator.standard_t(5, (2, 61, 24))
    first, second = (pd.DataFrame(truth + part) for part in noise)
    moved = first * generator.uniform(0.8, 1.2, 24) + generator.normal(0, 0.05, 24)
    moved.loc[3, 5] -= 0.4  # this training run did not learn
    rest = subtract_task_lines(moved - second, (moved + second) / 2)
    spread = rest.drop(index=3).std() / (noise[0] - noise[1]).std(axis=0)
    assert spread.to_numpy() == pytest.approx(1, abs=0.2)
    assert rest.loc[3, 5] == pytest.approx(-0.4, abs=0.1)


def test_mean_difference_stderr_matches_samples():
    scores = make_random_scores(6, models=4, tasks=12, digits=6)
    scores.iloc[1, :5] = np.nan
    item_errors = build_score_errors(scores, scores * 0 + 0.2, correlation=0.5).item_errors
    errors = ScoreErrors(scores, item_errors, scores.abs() * 0 + 0.3)
    first, second = np.array([0, 1, 2]), np.array([3, 2, 0])
    samples = np.array(list(errors.draw_scores(1000, 0)))
    spread = np.nanmean(samples[:, first] - samples[:, second], axis=2).std(axis=0)
    assert errors.compute_mean_difference_stderrs(first, second) == pytest.approx(spread, rel=0.1)
