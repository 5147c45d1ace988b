"""Where a new model with a handful of scores would stand on a panel that is fully measured."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.jackknife import group_families
from workflow_scripts.stats.principal import principal_components
from workflow_scripts.stats.ridge_by_family import (
    NORMAL,
    RidgeFit,
    fit_ridge,
    predict_held_out,
)


class Fitted(NamedTuple):
    """A panel's prediction for models that are measured on some of its tasks; the same for all of them."""

    values: pd.DataFrame
    """The panel's scores on these tasks."""
    target: np.ndarray
    """The panel's first principal component, of all its tasks."""
    learned: RidgeFit
    coverage: float
    """Fraction of the panel's models that an interval holds, each placed by the other families."""


def fit(panel: pd.DataFrame, tasks: list[str], families: pd.Series) -> Fitted:
    """Fit the prediction of models measured on these tasks."""
    values = panel[[task for task in panel if task in tasks]]
    scores = values.to_numpy(dtype=float)
    standard = (scores - scores.mean(axis=0)) / scores.std(axis=0)
    target = principal_components(panel).scores["PC1"].to_numpy()
    groups = group_families(families.reindex(panel.index))[0]
    predicted, half_width = predict_held_out(lambda _: standard, target, groups).T
    coverage = float((np.abs(predicted - target) <= half_width).mean())
    return Fitted(values, target, fit_ridge(standard, target, groups), coverage)


def place(measured: pd.Series, stderrs: pd.Series, fitted: Fitted) -> dict[str, Any]:
    """Place a model measured on some of the panel's tasks; same units, protocol and metrics as there.

    The panel's first principal component is predicted from the standardised scores z on the measured
    tasks by ridge regression over the panel's models, b'z, with an interval as a family that the panel
    lacks would need it (`ridge_by_family.fit_ridge`); siblings of the model in the panel may make it too
    wide. The error from the model's own standard errors s, the normal quantile 1.96 times
    sqrt(sum (b_t s_t / sd_t)^2), is added in quadrature, although the panel's errors hold as much of the
    panel's own; an unknown error adds nothing. `fitted` is the result of `fit` for these tasks.

    Returns pc1 with its interval, the ranks of these among the panel's models, and the tasks on which the
    model lies outside of the panel's range: there the panel predicts little.
    """
    panel, learned = fitted.values, fitted.learned
    scores, spread = measured.reindex(panel.columns).astype(float), panel.std(ddof=0)
    standard = ((scores - panel.mean()) / spread).to_numpy()[None]
    pc1 = float(learned.predicted(standard)[0])
    errors = stderrs.reindex(panel.columns).astype(float) / spread * learned.weights[1:]
    own_width = NORMAL * np.sqrt((errors**2).sum())
    half_width = float(np.hypot(learned.half_width(standard)[0], own_width))
    low, high = pc1 - half_width, pc1 + half_width
    rank, best_rank, worst_rank = (1 + int((fitted.target > end).sum()) for end in (pc1, high, low))
    outside = (scores < panel.min()) | (scores > panel.max())
    return {
        "pc1": pc1,
        "low": low,
        "high": high,
        "rank": rank,
        "best_rank": best_rank,
        "worst_rank": worst_rank,
        "coverage": fitted.coverage,
        "outside": list(scores.index[outside]),
    }
