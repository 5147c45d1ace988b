"""How far reruns lie apart: estimated from a pair of runs, and tried on simulated ones."""

import numpy as np
import pandas as pd
import pytest

from workflow_scripts.render.verdict import BY_LUCK, LIMIT
from workflow_scripts.stats.reruns import Reruns, differences_of, reordering, reruns_of

MODELS = [f"model {at}" for at in range(61)]
TASKS = [f"task {at}" for at in range(24)]
# What tasks differ by, and how strongly whole tasks move, as in the published pair.
SIZES = np.geomspace(0.004, 0.04, 24)
MOVED, STRAYING = (
    0.4,
    3,
)  # of a task's size; degrees of freedom of Student's t: the fewer, the wilder


def simulated(generator: np.random.Generator, straying: float = STRAYING) -> pd.DataFrame:
    """The differences of two runs of one protocol: a part that moves the task, and one of each training."""
    whole = MOVED * generator.standard_normal(24)
    each = 0.6 * generator.standard_t(straying, (61, 24))
    return pd.DataFrame(SIZES * (whole + each), MODELS, TASKS)


def partly_trained_once(differences: pd.DataFrame, generator: np.random.Generator) -> pd.DataFrame:
    return differences.mask(generator.random(differences.shape) < 0.25)


def most(reruns: Reruns) -> np.ndarray:
    return np.array([reruns.most(task) for task in TASKS])


def shift_errors(reruns: Reruns) -> np.ndarray:
    return np.array([reruns.shift_error(task, len(MODELS)) for task in TASKS])


@pytest.mark.parametrize("straying", [2.5, 5])
def test_a_rerun_of_the_same_protocol_differs_as_seldom_as_stated(straying):
    """The pair is drawn, the errors are estimated from it, and a rerun is drawn and judged by them."""
    scores, tasks = [], []
    for seed in range(15):
        generator = np.random.default_rng([seed, round(10 * straying)])
        reruns = reruns_of(partly_trained_once(simulated(generator, straying), generator))
        rerun = simulated(generator, straying)
        scores.append((rerun.abs() > most(reruns)).to_numpy().mean())
        tasks.append((rerun.median().abs() > LIMIT * shift_errors(reruns)).mean())
    assert 0.6 * BY_LUCK < np.mean(scores) <= BY_LUCK
    assert np.mean(tasks) <= BY_LUCK + 0.01


def test_what_moves_a_task_or_stretches_it_reorders_no_models_and_is_taken_out():
    generator = np.random.default_rng(4)
    truth = 0.5 + 0.2 * generator.standard_normal((61, 24))
    each = SIZES * 0.6 * generator.standard_t(5, (2, 61, 24))
    first, second = (pd.DataFrame(truth + one, MODELS, TASKS) for one in each)
    moved = first * generator.uniform(0.8, 1.2, 24) + generator.normal(0, 0.05, 24)
    moved.loc["model 3", "task 5"] -= 0.4  # which did not learn
    left = reordering(moved - second, (moved + second) / 2)
    others = left.drop(index="model 3")
    assert (others.std() / (each[0] - each[1]).std(axis=0)).to_numpy() == pytest.approx(1, abs=0.2)
    assert left.loc["model 3", "task 5"] == pytest.approx(-0.4, abs=0.1)


def test_what_was_not_trained_twice_or_lies_at_its_floor_tells_nothing():
    first = pd.DataFrame({"task": [0.50, 0.60, 0.40, 0.71]}, list("abcd"))
    second = pd.DataFrame({"task": [0.52, 0.60, 0.43, 0.70]}, list("abcd"))
    floor = pd.DataFrame({"task": [0.30, 0.30, 0.40, 0.30]}, list("abcd"))
    found = differences_of(first, second, floor)["task"]
    assert found.dropna().to_dict() == pytest.approx({"a": -0.02, "d": 0.01})
