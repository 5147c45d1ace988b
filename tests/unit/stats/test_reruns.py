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


@pytest.mark.parametrize("straying", [2.5, STRAYING, 5])
def test_a_rerun_of_the_same_protocol_differs_as_seldom_as_stated(straying):
    """The pair is drawn, the errors are estimated from it, and a rerun is drawn and judged by them."""
    scores, tasks = [], []
    for seed in range(100):
        generator = np.random.default_rng([seed, round(10 * straying)])
        reruns = reruns_of(partly_trained_once(simulated(generator, straying), generator))
        rerun = simulated(generator, straying)
        scores.append((rerun.abs() > most(reruns)).to_numpy().mean())
        tasks.append((rerun.median().abs() > LIMIT * shift_errors(reruns)).mean())
    assert 0.6 * BY_LUCK < np.mean(scores) <= BY_LUCK
    # Of 2,400 tasks, so that their share is known to half a percent.
    assert np.mean(tasks) <= BY_LUCK + 0.01


def test_three_points_on_a_task_are_caught_where_reruns_agree_and_over_all_models_nearly_everywhere():
    caught, found = [], []
    for seed in range(20):
        generator = np.random.default_rng(seed)
        reruns = reruns_of(partly_trained_once(simulated(generator), generator))
        better = simulated(generator) + 0.03
        found.append((better.abs() > most(reruns)).mean())
        caught.append(better.median().abs() > LIMIT * shift_errors(reruns))
    found, caught = np.mean(found, axis=0), np.mean(caught, axis=0)
    assert found[SIZES < 0.008].min() > 0.9
    assert caught[SIZES < 0.018].min() > 0.8
    assert caught.mean() > 0.75 > found.mean()


def test_the_size_of_a_tasks_differences_is_found_again():
    generator = np.random.default_rng(0)
    # So many models that little is left to chance, or to be drawn towards other tasks.
    many = pd.concat([simulated(generator) for _ in range(4)], ignore_index=True)
    many = partly_trained_once(many, generator)
    own = np.nanquantile(many.abs().to_numpy(), 0.8, axis=0)
    assert reruns_of(many).usual.to_numpy() == pytest.approx(own, rel=0.03)


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


def test_a_model_that_did_not_learn_moves_its_task_little():
    generator = np.random.default_rng(0)
    differences = simulated(generator)
    before = reruns_of(differences).usual["task 12"]
    differences.loc["model 7", "task 12"] = 0.437
    assert reruns_of(differences).usual["task 12"] == pytest.approx(before, rel=0.1)


def test_a_task_of_few_differences_is_drawn_towards_the_others_more_than_one_of_many():
    generator = np.random.default_rng(0)
    differences = simulated(generator)
    few = differences.copy()
    few.iloc[7:, 0] = np.nan
    many_usual, few_usual = reruns_of(differences).usual, reruns_of(few).usual
    own_of_many = differences["task 0"].abs().quantile(0.8)
    own_of_few = few["task 0"].abs().quantile(0.8)
    assert few_usual["task 0"] / own_of_few > many_usual["task 0"] / own_of_many > 1


def test_a_task_with_hardly_a_difference_is_left_out():
    generator = np.random.default_rng(0)
    differences = simulated(generator)
    differences.iloc[4:, 0] = np.nan
    assert "task 0" not in reruns_of(differences).usual


def test_fewer_models_leave_the_shift_of_a_task_less_certain():
    reruns = reruns_of(simulated(np.random.default_rng(0)))
    errors = [reruns.shift_error("task 3", models) for models in (5, 20, 61)]
    assert errors == sorted(errors, reverse=True)
    # Even all models of the world would not tell what moves all of them.
    assert reruns.shift_error("task 3", 10**9) > reruns.shift * reruns.usual["task 3"]
