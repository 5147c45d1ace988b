"""Where a new model with a handful of scores would stand on a panel that is fully measured."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.jackknife import few_groups
from workflow_scripts.stats.principal import principal_components
from workflow_scripts.stats.unseen_families import NORMAL, Learned, learn


class Fitted(NamedTuple):
    """What a panel says about models that are measured on some of its tasks; the same for all of them."""

    values: pd.DataFrame
    """The panel's scores on these tasks."""
    target: np.ndarray
    """The panel's first principal component, of all its tasks."""
    learned: Learned
    coverage: float
    """Share of the panel's models that an interval holds, each placed by the other families."""


def place(measured: pd.Series, stderrs: pd.Series, fitted: Fitted) -> dict[str, Any]:
    """Place a model measured on some of the panel's tasks; same units, protocol and metrics as there.

    The panel's first principal component is predicted from the standardised scores z on the measured
    tasks by ridge regression over the panel's models, b'z, with an interval as a family that the panel
    lacks would need it (`unseen_families.learn`); siblings of the model in the panel may make it too
    wide. What the model's own standard errors s add, the normal quantile 1.96 times
    sqrt(sum (b_t s_t / sd_t)^2), is added in quadrature, although the panel's errors hold as much of the
    panel's own; an error that is not known adds nothing. `fitted` is what `fit` learns for these tasks.

    Returned are pc1 with its interval, the ranks that these have among the panel's models, and the tasks on which the
    model lies outside of the panel's range: there the panel predicts little.
    """
    tasks = list(fitted.values)
    scores = measured.reindex(tasks).astype(float)
    means, spreads = fitted.values.mean(), fitted.values.std(ddof=0)
    new = ((scores - means) / spreads).to_numpy()
    (half,), (pc1,) = fitted.learned.half_width(new[None]), fitted.learned.predicted(new[None])
    errors = stderrs.reindex(tasks).astype(float) / spreads
    half = np.hypot(half, NORMAL * np.sqrt(((errors * fitted.learned.weights[1:]) ** 2).sum()))
    ends = {"": pc1, "best_": pc1 + half, "worst_": pc1 - half}
    return {
        "pc1": float(pc1),
        "low": float(pc1 - half),
        "high": float(pc1 + half),
        **{f"{name}rank": 1 + int((fitted.target > end).sum()) for name, end in ends.items()},
        "coverage": fitted.coverage,
        "outside": list(
            scores.index[(scores < fitted.values.min()) | (scores > fitted.values.max())]
        ),
    }


def fit(panel: pd.DataFrame, tasks: list[str], families: pd.Series) -> Fitted:
    """Learn from the panel what placing models measured on these tasks takes."""
    values = panel[[task for task in panel if task in tasks]]
    standard, target = _standardise(panel, list(values))
    groups, _ = few_groups(families.reindex(panel.index))
    unseen = without_families(panel, list(values), families)
    coverage = float(unseen["pc1"].between(unseen["low"], unseen["high"]).mean())
    return Fitted(values, target, learn(standard, target, groups), coverage)


def without_families(panel: pd.DataFrame, tasks: list[str], families: pd.Series) -> pd.DataFrame:
    """Place each panel model by the other families alone: columns pc1 (its own), predicted, low, high.

    Penalty and width of the interval are chosen again without the family, so that the share of
    intervals that hold is what a new family's model may count on.
    """
    standard, target = _standardise(panel, tasks)
    groups, _ = few_groups(families.reindex(panel.index))
    columns = ["pc1", "predicted", "low", "high"]
    placed = pd.DataFrame(index=panel.index, columns=columns, dtype=float)
    for group in np.unique(groups):
        out = groups == group
        learned = learn(standard[~out], target[~out], groups[~out])
        predicted, half = learned.predicted(standard[out]), learned.half_width(standard[out])
        placed[out] = np.column_stack([target[out], predicted, predicted - half, predicted + half])
    return placed


def _standardise(panel: pd.DataFrame, tasks: list[str]) -> tuple[np.ndarray, np.ndarray]:
    target = principal_components(panel).scores["PC1"].to_numpy()
    values = panel[tasks].to_numpy(dtype=float)
    return (values - values.mean(axis=0)) / values.std(axis=0), target
