"""Agreement of tasks, against scipy, pair by pair, with ties and gaps."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from tests.unit.stats.random_scores import SEEDS, random_scores
from workflow_scripts.stats.agreement import (
    agreement_by_category,
    agreement_by_task,
    kendall_matrix,
    mean_agreement,
    share_improving,
)


def reference(scores: pd.DataFrame, a: str, b: str) -> float:
    both = scores[[a, b]].dropna()
    return kendalltau(both[a], both[b]).statistic if len(both) > 1 else float("nan")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("gaps", [0.0, 0.2, 0.7])
def test_each_cell_is_scipys_tau_b_over_the_models_both_tasks_have(seed, gaps):
    scores = random_scores(seed, gaps=gaps, digits=seed % 2)
    matrix = kendall_matrix(scores)
    for a, b in combinations(scores.columns, 2):
        assert matrix.loc[a, b] == pytest.approx(reference(scores, a, b), nan_ok=True, abs=1e-12)
        assert matrix.loc[b, a] == pytest.approx(matrix.loc[a, b], nan_ok=True, abs=0)
    pairs = [reference(scores, a, b) for a, b in combinations(scores.columns, 2)]
    assert mean_agreement(scores) == pytest.approx(np.nanmean(pairs), abs=1e-12)


def test_what_cannot_be_ranked_is_nan_and_left_out_of_the_mean():
    scores = pd.DataFrame(
        {"a": [1, 2, 3], "b": [3, 2, 1], "tied": [5, 5, 5], "once": [1, None, None]}
    )
    matrix = kendall_matrix(scores)
    assert matrix.loc["a", "b"] == -1
    assert matrix["tied"].isna().all()
    assert matrix["once"].isna().all()
    assert mean_agreement(scores) == -1
    assert np.isnan(mean_agreement(scores[["a"]]))


def test_means_by_task_and_by_category_leave_a_task_itself_out():
    scores = random_scores(4, tasks=4)
    matrix = kendall_matrix(scores)
    a, b, c, d = scores.columns
    by_task = agreement_by_task(matrix)
    assert by_task[a] == pytest.approx(np.mean([matrix.loc[a, other] for other in (b, c, d)]))
    table = agreement_by_category(matrix, {a: "x", b: "y", c: "x", d: "x"})
    within = [matrix.loc[a, c], matrix.loc[a, d], matrix.loc[c, d]]
    assert table.loc["x", "x"] == pytest.approx(np.mean(within))
    between = [matrix.loc[b, other] for other in (a, c, d)]
    assert table.loc["x", "y"] == table.loc["y", "x"] == pytest.approx(np.mean(between))
    assert np.isnan(table.loc["y", "y"]), "one task agrees with nothing"


def test_the_share_of_pairs_that_improve_counts_strictly_and_only_what_both_know():
    names = list("abc")
    first = pd.DataFrame([[1, 0.2, 0.5], [0.2, 1, np.nan], [0.5, np.nan, 1]], names, names)
    second = pd.DataFrame([[1, 0.3, 0.5], [0.3, 1, 0.9], [0.5, 0.9, 1]], names, names)
    assert share_improving(first, second) == (0.5, 2)
