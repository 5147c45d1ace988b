"""Where a new model with a handful of scores would stand on a panel that is fully measured."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.jackknife import few_groups
from workflow_scripts.stats.principal import principal_components
from workflow_scripts.stats.unseen_families import NORMAL, Learned, learn

_NEIGHBOURS = 3


class Fitted(NamedTuple):
    """What a panel says about models that are measured on some of its tasks; the same for all of them."""

    values: pd.DataFrame
    """The panel's scores on these tasks."""
    standard: np.ndarray
    """The same standardised."""
    means: np.ndarray
    spreads: np.ndarray
    target: np.ndarray
    """The panel's first principal component, of all its tasks."""
    learned: Learned
    coverage: float
    others: list[Learned]
    """By task what predicts it from the others."""


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
    """Share of the panel's models that such an interval holds, each placed by the other families."""
    neighbours: pd.Series
    """The nearest panel models by distance: root mean square of the differences of standardised scores."""
    residuals: pd.Series
    """By task: how far the score lies from what the other tasks predict, in standard deviations."""
    outside: tuple[str, ...]
    """Tasks on which the model lies outside of the panel's range: there the panel predicts little."""


def place(measured: pd.Series, stderrs: pd.Series, fitted: Fitted) -> Placement:
    """Place a model measured on some of the panel's tasks; same units, protocol and metrics as there.

    The panel's first principal component is predicted from the standardised scores z on the measured
    tasks by ridge regression over the panel's models, b'z, with an interval as a family that the panel
    lacks would need it (`unseen_families.learn`); siblings of the model in the panel may make it too
    wide. What the model's own standard errors s add, the normal quantile 1.96 times
    sqrt(sum (b_t s_t / sd_t)^2), is added in quadrature, although the panel's errors hold as much of the
    panel's own; an error that is not known adds nothing. `fitted` is what `fit` learns for these tasks.
    """
    tasks = list(fitted.values)
    scores, errors = (of.reindex(tasks).to_numpy(dtype=float) for of in (measured, stderrs))
    new = ((scores - fitted.means) / fitted.spreads)[None]
    (half,), (pc1,) = fitted.learned.half_width(new), fitted.learned.predicted(new)
    noise = errors / fitted.spreads * fitted.learned.weights[1:]
    half = np.hypot(half, NORMAL * np.sqrt(np.nansum(noise**2)))
    distances = np.sqrt(((fitted.standard - new) ** 2).mean(axis=1))
    nearest = np.argsort(distances, kind="stable")[:_NEIGHBOURS]
    beyond = (scores < fitted.values.min()) | (scores > fitted.values.max())
    return Placement(
        float(pc1),
        float(pc1 - half),
        float(pc1 + half),
        *(1 + int((fitted.target > place).sum()) for place in (pc1, pc1 + half, pc1 - half)),
        fitted.coverage,
        pd.Series(distances[nearest], index=fitted.values.index[nearest]),
        pd.Series(_compute_residuals(fitted, new[0]), index=tasks),
        tuple(np.array(tasks)[beyond]),
    )


def fit(panel: pd.DataFrame, tasks: list[str], families: pd.Series) -> Fitted:
    """Learn from the panel what placing models measured on these tasks takes."""
    values = panel[[task for task in panel.columns if task in tasks]]
    standard, target = _standardise(panel, list(values))
    groups, _ = few_groups(families.reindex(panel.index))
    unseen = without_families(panel, list(values), families)
    held = (unseen["low"] <= unseen["pc1"]) & (unseen["pc1"] <= unseen["high"])
    others = [
        learn(np.delete(standard, at, axis=1), standard[:, at], groups)
        for at in range(len(tasks) if len(tasks) > 1 else 0)
    ]
    means, spreads = values.mean().to_numpy(), values.std(ddof=0).to_numpy()
    learned, coverage = learn(standard, target, groups), float(held.mean())
    return Fitted(values, standard, means, spreads, target, learned, coverage, others)


def without_families(panel: pd.DataFrame, tasks: list[str], families: pd.Series) -> pd.DataFrame:
    """Each panel model placed by the other families alone: columns pc1 (its own), predicted, low, high.

    Penalty and width of the interval are chosen again without the family, so that the share of
    intervals that hold is what a new family's model may count on.
    """
    standard, target = _standardise(panel, tasks)
    groups, _ = few_groups(families.reindex(panel.index))
    found = pd.DataFrame(
        index=panel.index, columns=["pc1", "predicted", "low", "high"], dtype=float
    )
    for one in np.unique(groups):
        out = groups == one
        learned = learn(standard[~out], target[~out], groups[~out])
        predicted, half = learned.predicted(standard[out]), learned.half_width(standard[out])
        found[out] = np.column_stack([target[out], predicted, predicted - half, predicted + half])
    return found


def _standardise(panel: pd.DataFrame, tasks: list[str]) -> tuple[np.ndarray, np.ndarray]:
    target = principal_components(panel).scores["PC1"].to_numpy()
    values = panel[tasks].to_numpy(dtype=float)
    return (values - values.mean(axis=0)) / values.std(axis=0), target


def _compute_residuals(fitted: Fitted, new: np.ndarray) -> np.ndarray:
    """By task the error of its prediction from the others, over the spread of the panel's own."""
    if not fitted.others:
        return np.full(len(new), np.nan)
    return np.array(
        [
            (new[at] - float(others.predicted(np.delete(new, at)[None])[0]))
            / np.sqrt((others.errors**2).mean())
            for at, others in enumerate(fitted.others)
        ]
    )
