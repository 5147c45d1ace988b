"""How alike tasks rank models: Kendall's tau-b between tasks, and its means over pairs of tasks."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

Pairs = tuple[np.ndarray, np.ndarray]  # of models, by position
_MAX_COMPARED = 1000  # models, of more of which sorting takes less time than comparing all pairs


def compare_pairs(values: np.ndarray, pairs: Pairs) -> np.ndarray:
    """Compare the models of each pair (rows) on each task: 1, -1, or 0 where they are tied or a score is missing."""
    first, second = pairs
    return np.nan_to_num(np.sign(values[first] - values[second]))


def pair_all(models: int) -> Pairs:
    """List all pairs of so many models."""
    return np.triu_indices(models, 1)


def kendall_matrix(scores: pd.DataFrame, pairs: Pairs | None = None) -> pd.DataFrame:
    """Compute Kendall's tau-b between any two tasks (columns) over the models (rows) that have both.

    tau_b(a, b) = (C - D) / sqrt(N_a N_b), where over pairs of models that a and b have both
    measured C counts those that both order the same way, D those that they order in opposite ways,
    and N_a those that a does not leave tied. A cell is NaN where no pair is shared, or one of the tasks ties
    all of them. With `pairs` only these pairs of models are counted.
    """
    values = scores.to_numpy(dtype=float)
    if pairs is None and len(values) > _MAX_COMPARED:
        return pd.DataFrame(values, columns=scores.columns).corr(method="kendall")
    first, second = pairs or pair_all(len(values))
    order = compare_pairs(values, (first, second))
    measured = ~np.isnan(values)
    ordered = np.abs(order).T @ (measured[first] & measured[second])  # [a, b]: a orders, b has
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = order.T @ order / np.sqrt(ordered * ordered.T)
    return pd.DataFrame(tau, scores.columns, scores.columns)


def average_pairs(matrix: pd.DataFrame) -> float:
    """Average over pairs of different tasks whose tau is defined; NaN if none is."""
    return float(pd.Series(matrix.to_numpy()[pair_all(len(matrix))]).mean())


def mean_agreement(scores: pd.DataFrame) -> float:
    """Compute the mean of Kendall's tau-b over all pairs of different tasks for which it is defined."""
    return average_pairs(kendall_matrix(scores))


def average_by_task(matrix: pd.DataFrame) -> pd.Series:
    """Average tau of each task over the other tasks, undefined ones left out."""
    return _mask_diagonal(matrix).mean(axis=1)


def average_by_category(matrix: pd.DataFrame, categories: Mapping[str, str]) -> pd.DataFrame:
    """Average tau over pairs of different tasks, one of the row's category and one of the column's.

    On the diagonal that is the agreement within a category; NaN where it has a single task.
    """
    tau = _mask_diagonal(matrix).stack().rename(categories)
    names = list(dict.fromkeys(matrix.columns.map(categories)))
    return tau.groupby(level=[0, 1]).mean().unstack().reindex(index=names, columns=names)


def _mask_diagonal(matrix: pd.DataFrame) -> pd.DataFrame:
    return matrix.mask(np.eye(len(matrix), dtype=bool))


def count_rising_pairs(first: pd.DataFrame, second: pd.DataFrame) -> tuple[float, int]:
    """Compute the share of pairs of tasks with tau(second) > tau(first), and the number of pairs.

    Both are matrices of `kendall_matrix` over the same tasks. Pairs count that are defined in both.
    """
    rise = pd.Series((second.to_numpy() - first.to_numpy())[pair_all(len(first))]).dropna()
    return float((rise > 0).mean()), len(rise)


def select_shared_cells(
    first: pd.DataFrame, second: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Reduce two protocols to the models, tasks and cells that both have; other cells become NaN.

    A model that one of them lacks on a task would change one side alone.
    """
    first, second = first.align(second, join="inner")
    measured = first.notna() & second.notna()
    return first.where(measured), second.where(measured)


def compute_cross_agreement(
    first: pd.DataFrame, second: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Compute Kendall's tau-b, Pearson's r and the number of models of each column of `first` and each of `second`.

    Over the models (rows) that have both; NaN where these are fewer than two, or all tied.
    """
    both = pd.concat([first, second], axis=1, join="inner", keys=[0, 1])
    measured = both.notna().astype(int)
    with np.errstate(invalid="ignore", divide="ignore"):
        tables = kendall_matrix(both), both.corr(min_periods=2), measured.T @ measured
    kendall, pearson, models = (table.loc[0, 1] for table in tables)
    return kendall, pearson, models
