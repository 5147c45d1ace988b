"""Where a new model with a handful of scores would stand on a panel that is fully measured."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.checks import checked_scores
from workflow_scripts.stats.jackknife import few_groups
from workflow_scripts.stats.principal import principal_components
from workflow_scripts.stats.unseen_families import NORMAL, Learned, learn

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


def place(
    panel: pd.DataFrame,
    measured: pd.Series,
    families: pd.Series,
    stderrs: pd.Series | None = None,
    fitted: Fitted | None = None,
) -> Placement:
    """Place a model measured on some of the panel's tasks; same units, protocol and metrics as there.

    The panel's first principal component is predicted from the standardised scores z on the measured
    tasks by ridge regression over the panel's models, b'z, with an interval as a family that the panel
    lacks would need it (`unseen_families.learn`); siblings of the model in the panel may make it too
    wide. What the model's own standard errors s add, the normal quantile 1.96 times
    sqrt(sum (b_t s_t / sd_t)^2), is added in quadrature, although the panel's errors hold as much of the
    panel's own. `families` has the family of each panel model.

    `fitted` is what `fit` gives for these tasks, where it is at hand.
    """
    tasks, scores = _measured_tasks(panel, measured)
    fitted = fitted or fit(panel, tasks, families)
    new = ((scores - fitted.means) / fitted.spreads)[None]
    (half,), (pc1,) = fitted.learned.half_width(new), fitted.learned.predicted(new)
    target = fitted.target
    if stderrs is not None:
        errors = np.array([stderrs.get(task, np.nan) for task in tasks], dtype=float)
        half = np.hypot(half, _noise(fitted, errors))
    distances = np.sqrt(((fitted.standard - new) ** 2).mean(axis=1))
    nearest = np.argsort(distances, kind="stable")[:_NEIGHBOURS]
    beyond = (scores < fitted.lowest) | (scores > fitted.highest)
    return Placement(
        float(pc1),
        float(pc1 - half),
        float(pc1 + half),
        1 + int((target > pc1).sum()),
        1 + int((target > pc1 + half).sum()),
        1 + int((target > pc1 - half).sum()),
        fitted.coverage,
        pd.Series(distances[nearest], index=panel.index[nearest]),
        pd.Series(_residuals(fitted, new[0]), index=tasks),
        tuple(task for task, out in zip(tasks, beyond, strict=True) if out),
    )


def fit(panel: pd.DataFrame, tasks: list[str], families: pd.Series) -> Fitted:
    """Learn from the panel what placing models measured on these tasks takes."""
    tasks = [task for task in panel.columns if task in tasks]  # in the order of `place`
    standard, target, means, spreads = _standardised(panel, tasks)
    groups, _ = few_groups(families.reindex(panel.index))
    unseen = without_families(panel, tasks, families)
    held = (unseen["low"] <= unseen["pc1"]) & (unseen["pc1"] <= unseen["high"])
    others = [
        learn(np.delete(standard, at, axis=1), standard[:, at], groups)
        for at in range(len(tasks) if len(tasks) > 1 else 0)
    ]
    values = panel[tasks].to_numpy(dtype=float)
    ends = values.min(axis=0), values.max(axis=0)
    learned = learn(standard, target, groups)
    return Fitted(standard, means, spreads, *ends, target, learned, float(held.mean()), others)


def without_families(panel: pd.DataFrame, tasks: list[str], families: pd.Series) -> pd.DataFrame:
    """Each panel model placed by the other families alone: columns pc1 (its own), predicted, low, high.

    Penalty and width of the interval are chosen again without the family, so that the share of
    intervals that hold is what a new family's model may count on.
    """
    standard, target, _, _ = _standardised(panel, tasks)
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


def _noise(fitted: Fitted, errors: np.ndarray) -> float:
    """What the scores' own standard errors add to half the width of an interval."""
    moved = errors / fitted.spreads * fitted.learned.weights[1:]
    return float(NORMAL * np.sqrt(np.nansum(moved**2)))


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


def _residuals(fitted: Fitted, new: np.ndarray) -> np.ndarray:
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
