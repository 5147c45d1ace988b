"""Where a new model with a handful of scores would stand on a panel that is fully measured."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.checks import LEVEL, TAILS, checked_scores
from workflow_scripts.stats.principal import principal_components

# Ridge penalties to choose from, as shares of the number of panel models.
PENALTIES = (1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0)
_NEIGHBOURS = 3


class Fitted(NamedTuple):
    """What a panel says about models that are measured on some of its tasks; the same for all of them."""

    standard: np.ndarray
    """The panel's standardised scores on these tasks."""
    means: np.ndarray
    spreads: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    target: np.ndarray
    """The panel's first principal component, of all its tasks."""
    weights: np.ndarray
    half: float
    """Of the width of an interval, without a model's own standard errors."""
    coverage: float
    others: list[tuple[np.ndarray, float]]
    """By task the weights that predict it from the others, and the spread of their errors."""


class Placement(NamedTuple):
    """A new model on the panel."""

    pc1: float
    low: float
    high: float
    rank: int
    """Its rank among the panel's models, were it one of them."""
    best_rank: int
    worst_rank: int
    coverage: float
    """Share of the panel's models that such an interval holds, each placed by the others."""
    neighbours: pd.Series
    """The nearest panel models by distance: root mean square of the differences of standardised scores."""
    residuals: pd.Series
    """By task: how far the score lies from what the other tasks predict, in standard deviations."""
    outside: tuple[str, ...]
    """Tasks on which the model lies outside of the panel's range: there the panel predicts little."""


def place(
    panel: pd.DataFrame,
    measured: pd.Series,
    stderrs: pd.Series | None = None,
    fitted: Fitted | None = None,
) -> Placement:
    """Place a model measured on some of the panel's tasks; same units, protocol and metrics as there.

    The panel's first principal component y is predicted from the standardised scores z on the measured
    tasks by ridge regression over the panel's n models, y = b'z with b = (Z'Z + n p I)^-1 Z'y, the
    penalty p chosen by leave-one-out. The interval is y plus or minus the ceil(0.95 (n + 1))-th
    smallest of the panel's n absolute leave-one-out errors (the largest where n is too small), which
    asks for no normal distribution. What the new model's own standard errors s add, the normal
    quantile 1.96 times sqrt(sum (b_t s_t / sd_t)^2), is added in quadrature, although the
    panel's errors hold as much of the panel's own: the interval is rather too wide than too narrow.

    `fitted` is what `fit` gives for these tasks, where it is at hand.
    """
    tasks, scores = _measured_tasks(panel, measured)
    fitted = fitted or fit(panel, tasks)
    new = (scores - fitted.means) / fitted.spreads
    half, target = fitted.half, fitted.target
    if stderrs is not None:
        errors = np.array([stderrs.get(task, np.nan) for task in tasks], dtype=float)
        noise = errors / fitted.spreads * fitted.weights
        from scipy.stats import norm  # slow to import, and needed here alone

        half = float(np.hypot(half, norm.ppf(TAILS[1]) * np.sqrt(np.nansum(noise**2))))
    pc1 = float(new @ fitted.weights)
    distances = np.sqrt(((fitted.standard - new) ** 2).mean(axis=1))
    nearest = np.argsort(distances, kind="stable")[:_NEIGHBOURS]
    beyond = (scores < fitted.lowest) | (scores > fitted.highest)
    return Placement(
        pc1,
        pc1 - half,
        pc1 + half,
        1 + int((target > pc1).sum()),
        1 + int((target > pc1 + half).sum()),
        1 + int((target > pc1 - half).sum()),
        fitted.coverage,
        pd.Series(distances[nearest], index=panel.index[nearest]),
        pd.Series(_residuals(fitted, new), index=tasks),
        tuple(task for task, out in zip(tasks, beyond, strict=True) if out),
    )


def fit(panel: pd.DataFrame, tasks: list[str]) -> Fitted:
    """Learn from the panel what placing models measured on these tasks takes."""
    tasks = [task for task in panel.columns if task in tasks]  # in the order of `place`
    standard, target, means, spreads = _standardised(panel, tasks)
    weights, errors = _ridge(standard, target)
    inside = leave_one_out(panel, tasks)
    held = (inside["low"] <= inside["pc1"]) & (inside["pc1"] <= inside["high"])
    others = []
    for at in range(len(tasks) if len(tasks) > 1 else 0):
        of_task, errors_of_task = _ridge(np.delete(standard, at, axis=1), standard[:, at])
        others.append((of_task, float(np.sqrt((errors_of_task**2).mean()))))
    half = _conformal(errors)
    values = panel[tasks].to_numpy(dtype=float)
    ends = values.min(axis=0), values.max(axis=0)
    coverage = float(held.mean())
    return Fitted(standard, means, spreads, *ends, target, weights, half, coverage, others)


def leave_one_out(panel: pd.DataFrame, tasks: list[str]) -> pd.DataFrame:
    """Each panel model placed by the others alone: columns pc1 (its own), predicted, low, high.

    Penalty and width of the interval are chosen again without the model, so that the share of
    intervals that hold is what a new model of the panel's kind may count on.
    """
    standard, target, _, _ = _standardised(panel, tasks)
    rows = []
    for at in range(len(panel)):
        kept = np.arange(len(panel)) != at
        weights, errors = _ridge(standard[kept], target[kept])
        predicted = float(standard[at] @ weights)
        half = _conformal(errors)
        rows.append((target[at], predicted, predicted - half, predicted + half))
    return pd.DataFrame(rows, index=panel.index, columns=["pc1", "predicted", "low", "high"])


def _measured_tasks(panel: pd.DataFrame, measured: pd.Series) -> tuple[list[str], np.ndarray]:
    known = {task: float(score) for task, score in measured.items() if not np.isnan(score)}
    if unknown := [task for task in known if task not in panel.columns]:
        raise ValueError(
            f"measured has the task {unknown[0]!r}; expected tasks of the panel, which are"
            f" {', '.join(map(str, panel.columns))}."
        )
    if not known:
        raise ValueError("measured holds no score; expected at least one of the panel's tasks.")
    tasks = [task for task in panel.columns if task in known]
    return tasks, np.array([known[task] for task in tasks])


def _standardised(
    panel: pd.DataFrame, tasks: list[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    if len(panel) < 10:
        raise ValueError(f"panel has {len(panel)} models; expected at least 10 to learn from.")
    target = principal_components(panel).scores["PC1"].to_numpy()
    values = checked_scores(panel[tasks], "panel")
    means, spreads = values.mean(axis=0), values.std(axis=0)
    return (values - means) / spreads, target, means, spreads


def _ridge(standard: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ridge weights with the penalty of least leave-one-out error, and those errors."""
    gram, products = standard.T @ standard, standard.T @ target
    least = np.inf
    for penalty in PENALTIES:
        inverse = np.linalg.inv(gram + len(standard) * penalty * np.eye(len(gram)))
        weights = inverse @ products
        leverage = (standard @ inverse * standard).sum(axis=1)
        errors = (target - standard @ weights) / (1 - leverage)
        if (errors**2).sum() < least:
            least, best = (errors**2).sum(), (weights, errors)
    return best


def _conformal(errors: np.ndarray) -> float:
    wanted = min(int(np.ceil((len(errors) + 1) * LEVEL)), len(errors))
    return float(np.sort(np.abs(errors))[wanted - 1])


def _residuals(fitted: Fitted, new: np.ndarray) -> np.ndarray:
    """By task the error of its prediction from the others, over the spread of the panel's own."""
    if not fitted.others:
        return np.full(len(new), np.nan)
    return np.array(
        [
            (new[at] - np.delete(new, at) @ weights) / spread
            for at, (weights, spread) in enumerate(fitted.others)
        ]
    )
