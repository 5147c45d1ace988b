"""How alike tasks rank models: Kendall's tau-b between tasks, and its means over pairs of tasks."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.checks import checked_scores

Pairs = tuple[np.ndarray, np.ndarray]  # of models, by their places


# Models, of more of which sorting takes less than comparing every two.
_MOST_COMPARED = 1000


def compare_pairs(values: np.ndarray, pairs: Pairs) -> np.ndarray:
    """Compare two models of each pair (rows) on each task: 1, -1, or 0 where they are tied or one has no score."""
    first, second = pairs
    return np.nan_to_num(np.sign(values[first] - values[second]))


def pair_all(models: int) -> Pairs:
    return np.triu_indices(models, 1)


def kendall_matrix(scores: pd.DataFrame, pairs: Pairs | None = None) -> pd.DataFrame:
    """Compute Kendall's tau-b between any two tasks (columns) over the models (rows) that have both.

    tau_b(a, b) = (C - D) / sqrt(N_a N_b), where over pairs of models that a and b have both
    measured C counts those that both order the same way, D those that they order in opposite ways,
    and N_a those that a does not leave tied. It is 1 for equal and -1 for opposite rankings. A cell
    is NaN where no pair is shared, or one of the tasks ties all of them. Over all pairs of models, or over `pairs`
    of their places alone.
    """
    values = checked_scores(scores)
    if pairs is None and len(values) > _MOST_COMPARED:
        return pd.DataFrame(values, columns=scores.columns).corr(method="kendall")
    first, second = pair_all(len(values)) if pairs is None else pairs
    order = compare_pairs(values, (first, second))
    known = ~np.isnan(values)
    ordered = np.abs(order).T @ (known[first] & known[second])  # [a, b]: that a orders, and b has
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = order.T @ order / np.sqrt(ordered * ordered.T)
    return pd.DataFrame(tau, scores.columns, scores.columns)


def mean_of_pairs(matrix: np.ndarray) -> float:
    """Mean over pairs of different tasks whose tau is defined; NaN where there is none."""
    return _mean(matrix[np.triu_indices(len(matrix), 1)])


def mean_agreement(scores: pd.DataFrame) -> float:
    """Mean of Kendall's tau-b over all pairs of different tasks: 2 / (T (T - 1)) sum_{a<b} tau(a, b).

    Pairs for which tau is not defined are left out of the mean; NaN where that is all of them.
    """
    return mean_of_pairs(kendall_matrix(scores).to_numpy())


def agreement_by_task(matrix: pd.DataFrame) -> pd.Series:
    """For each task a the mean of tau(a, b) over the other tasks b, those not defined left out."""
    values = matrix.to_numpy(dtype=float, copy=True)
    np.fill_diagonal(values, np.nan)
    return pd.DataFrame(values, index=matrix.index, columns=matrix.columns).mean(axis=1)


def agreement_by_category(matrix: pd.DataFrame, categories: Mapping[str, str]) -> pd.DataFrame:
    """Mean tau over pairs of different tasks, one of the row's category and one of the column's.

    On the diagonal that is the agreement within a category; NaN where it has a single task.
    """
    if unknown := [task for task in matrix.columns if task not in categories]:
        raise ValueError(f"categories lacks the task {unknown[0]!r}; expected one for each task.")
    values = matrix.to_numpy(dtype=float, copy=True)
    np.fill_diagonal(values, np.nan)
    of = np.array([categories[task] for task in matrix.columns])
    names = list(dict.fromkeys(of))
    means = [[_mean(values[np.ix_(of == row, of == column)]) for column in names] for row in names]
    return pd.DataFrame(means, index=names, columns=names)


def _mean(values: np.ndarray) -> float:
    """Of those that are known; NaN where there is none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


class Improvement(NamedTuple):
    """How many pairs of tasks agree more under the second protocol."""

    share: float
    pairs: int


def share_improving(first: pd.DataFrame, second: pd.DataFrame) -> Improvement:
    """Share of pairs of tasks with tau(second) > tau(first), among those defined in both matrices.

    Both are matrices of `kendall_matrix` over the same tasks. A pair with equal tau has not improved.
    """
    if not first.columns.equals(second.columns):
        raise ValueError(
            "second has other tasks than first; expected two matrices over the same tasks, in the"
            " same order."
        )
    above = np.triu_indices(len(first), 1)
    one, other = first.to_numpy(dtype=float)[above], second.to_numpy(dtype=float)[above]
    known = ~(np.isnan(one) | np.isnan(other))
    if not known.any():
        return Improvement(float("nan"), 0)
    return Improvement(float((other > one)[known].mean()), int(known.sum()))


def shared_cells(first: pd.DataFrame, second: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two protocols over what both have: the same models, tasks and cells; other cells become NaN.

    Two protocols are compared on equal terms only: a model that one of them lacks on a task would
    move one side alone.
    """
    models = first.index.intersection(second.index, sort=False)
    tasks = first.columns.intersection(second.columns, sort=False)
    first, second = first.loc[models, tasks], second.loc[models, tasks]
    known = first.notna() & second.notna()
    return first.where(known), second.where(known)
