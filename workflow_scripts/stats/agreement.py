"""Measure how similarly tasks rank models: Kendall's tau-b between tasks, and its means over pairs of tasks."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

_MAX_COMPARED_MODELS = 1000  # with more models, sorting is faster than comparing all pairs


def compare_models(values: np.ndarray) -> np.ndarray:
    """Compare each two of the models (rows), in both directions: [task, model, model].

    The result is 1 if the first is higher, -1 if it is lower, or 0 if they are tied or one score is missing. Sums over
    up to 16 million pairs of models are exact in float32, which is faster.
    """
    by_task = np.ascontiguousarray(values.T)
    first = by_task[:, :, None]
    second = by_task[:, None]
    return np.subtract(first > second, first < second, dtype=np.float32)


def sum_pairs(numbers: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """Sum the `numbers` of pairs of models, [a, model, model], over those that column b of `measured` has: [a, b]."""
    mask = measured.astype(np.float32)
    return (numbers @ mask * mask).sum(axis=1).astype(float)


def compute_kendall_matrix(scores: pd.DataFrame) -> pd.DataFrame:
    """Compute Kendall's tau-b between any two tasks (columns) over the models (rows) that have both.

    tau_b(a, b) = (C - D) / sqrt(N_a N_b). Over the pairs of models measured on both a and b, C counts the
    concordant pairs, D the discordant pairs, and N_a the pairs not tied on a. A cell is NaN if there is no
    such pair or a task ties all of them.
    """
    if len(scores) > _MAX_COMPARED_MODELS:
        return scores.corr(method="kendall")
    values = scores.to_numpy(dtype=float)
    order = compare_models(values)
    untied = sum_pairs(np.abs(order), ~np.isnan(values))  # [a, b]: pairs untied on a, measured on b
    order = order.reshape(values.shape[1], len(values) ** 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = order @ order.T / np.sqrt(untied * untied.T)
    return pd.DataFrame(tau, scores.columns, scores.columns)


def average_pairs(matrix: pd.DataFrame) -> float:
    """Average tau over all pairs of different tasks for which it is defined; NaN if there is none."""
    return float(pd.Series(matrix.to_numpy()[np.triu_indices(len(matrix), 1)]).mean())


def compute_mean_agreement(scores: pd.DataFrame) -> float:
    """Compute the mean of Kendall's tau-b over all pairs of different tasks for which it is defined."""
    return average_pairs(compute_kendall_matrix(scores))


def average_by_category(matrix: pd.DataFrame, categories: Mapping[str, str]) -> pd.DataFrame:
    """Average tau over pairs of different tasks, one from the row's category and one from the column's.

    The diagonal is the agreement within a category; NaN for a category with a single task.
    """
    tau = matrix.mask(np.eye(len(matrix), dtype=bool)).stack().rename(categories)
    names = list(dict.fromkeys(matrix.columns.map(categories)))
    return tau.groupby(level=[0, 1]).mean().unstack().reindex(index=names, columns=names)


def count_rising_pairs(first: pd.DataFrame, second: pd.DataFrame) -> tuple[float, int]:
    """Compute the fraction of pairs of tasks that correlate more in `second` than in `first`, and the number of pairs.

    Both are matrices of correlations over the same tasks; only pairs defined in both count.
    """
    pairs = np.triu_indices(len(first), 1)
    rises = pd.Series((second.to_numpy() - first.to_numpy())[pairs]).dropna()
    return float((rises > 0).mean()), len(rises)


def select_shared_cells(
    first: pd.DataFrame, second: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Reduce two protocols to the models, tasks and cells that both have, so that their agreements are comparable.

    Other cells become NaN.
    """
    first, second = first.align(second, join="inner")
    measured = first.notna() & second.notna()
    return first.where(measured), second.where(measured)


def compute_cross_agreement(
    first: pd.DataFrame, second: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Compute Kendall's tau-b, Pearson's r and the number of models for each column of `first` and of `second`.

    They are computed over the models (rows) that have both scores; NaN for fewer than two models, or if all are tied.
    """
    both = pd.concat([first, second], axis=1, join="inner", keys=[0, 1])
    measured = both.notna().astype(int)
    with np.errstate(invalid="ignore", divide="ignore"):
        tables = compute_kendall_matrix(both), both.corr(min_periods=2), measured.T @ measured
    kendall, pearson, models = (table.loc[0, 1] for table in tables)
    return kendall, pearson, models
