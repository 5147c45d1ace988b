"""What noise does to rankings: standard errors by counting, the ceiling by drawing one by one."""

import numpy as np
import pandas as pd
import pytest

from tests.unit.stats.random_scores import published_scores, random_scores, with_errors
from workflow_scripts.scores.published_leaderboard import TEST_ITEMS
from workflow_scripts.stats.agreement import kendall_matrix
from workflow_scripts.stats.noise import ceiling_of_pairs, noise_ceiling, standard_error


def test_the_standard_error_of_a_share_and_of_a_balanced_coefficient_is_that_of_repeated_tests():
    generator = np.random.default_rng(3)
    right = generator.random((4000, 200)) < 0.7
    assert standard_error(0.7, 200) == pytest.approx(right.mean(axis=1).std(), rel=0.05)
    gold = np.arange(200) % 2 == 0
    answers = np.where(right, gold, ~gold)
    coefficients = [np.corrcoef(gold, answer)[0, 1] for answer in answers]
    assert standard_error(0.4, 200, -1.0) == pytest.approx(np.std(coefficients), rel=0.08)
    assert standard_error(1.0, 10) == 0
    for value, n, lowest, words in (
        (0.5, 0, 0, "n is 0"),
        (65, 10, 0, "is 65"),
        (-0.1, 9, 0, "-0.1"),
    ):
        with pytest.raises(ValueError, match=words):
            standard_error(value, n, lowest)


@pytest.mark.parametrize("seed", [1, 2])
def test_tasks_that_differ_in_noise_alone_agree_nearly_up_to_the_ceiling_of_pairs(seed):
    generator = np.random.default_rng(seed)
    noise = np.array([0.05, 0.2, 0.5])
    found, ceilings = [], []
    for _ in range(25):
        ability = generator.standard_normal((61, 1))
        scores = pd.DataFrame(ability + noise * generator.standard_normal((61, 3)))
        ceilings.append(
            ceiling_of_pairs(with_errors(scores, scores * 0 + noise), 30, seed).to_numpy()
        )
        found.append(kendall_matrix(scores).to_numpy())
    above = np.triu_indices(3, 1)
    short = np.mean(ceilings, axis=0)[above] - np.mean(found, axis=0)[above]
    assert (short > -0.01).all(), "never too low"
    assert (short < 0.08).all(), "and not far off"


def test_the_ceiling_of_a_pair_is_over_the_models_that_both_tasks_have():
    """Half of the models are far apart: without the others a task is measured much better."""
    scores = random_scores(4, models=20, tasks=3, digits=6)
    scores.iloc[:10] = scores.iloc[:10].rank() * 100
    scores.iloc[10:, 2] = np.nan
    stderrs = scores * 0 + 0.8
    found = ceiling_of_pairs(with_errors(scores, stderrs), draws=50)
    ten = with_errors(scores.iloc[:10], stderrs.iloc[:10])
    reliable = noise_ceiling(ten, draws=50)["two_redraws"]
    assert reliable.min() == 1
    assert found.iloc[2, :2].tolist() == found.iloc[:2, 2].tolist() == [1, 1]
    assert found.iloc[0, 1] < 0.95, "over all twenty, as the agreement of these two tasks is"


def test_without_noise_the_ceiling_is_one_and_without_standard_errors_unknown():
    scores = random_scores(7, tasks=2, digits=6)
    stderrs = scores * 0.0
    stderrs["task 1"] = np.nan
    ceiling = noise_ceiling(with_errors(scores, stderrs), draws=5)
    assert ceiling.loc["task 0"].tolist() == pytest.approx([1, 1])
    assert ceiling.loc["task 1"].isna().all()


def test_the_published_benchmarks_agree_with_their_own_redraw_to_089():
    scores = published_scores() / 100
    items = np.array([[TEST_ITEMS[task] for task in scores]], dtype=float)
    lowest = np.where(scores.columns == "cola", -1.0, 0.0)
    stderrs = pd.DataFrame(standard_error(scores, items, lowest), scores.index, scores.columns)
    ceiling = noise_ceiling(with_errors(scores, stderrs), draws=200)
    assert ceiling["own_redraw"].mean() == pytest.approx(0.89, abs=0.005)
    assert (ceiling["two_redraws"] < ceiling["own_redraw"]).all()


def test_items_that_models_share_and_trainings_move_the_ceiling_as_they_should():
    """Shared items move all models alike and leave their order; trainings of their own do not."""
    scores = published_scores() / 100
    stderrs = scores * 0 + 0.02
    alone, shared, trained = (
        noise_ceiling(with_errors(scores, stderrs, *more), draws=50)["two_redraws"].mean()
        for more in ((0.0,), (0.5,), (0.0, 0.02))
    )
    assert trained < alone < shared
