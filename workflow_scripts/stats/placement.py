"""Place a new model with a few scores on a panel of fully measured models."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.jackknife import group_families
from workflow_scripts.stats.principal import principal_components
from workflow_scripts.stats.ridge_by_family import RidgeFit, fit_ridge
from workflow_scripts.stats.significance import NORMAL


class Fitted(NamedTuple):
    """A prediction fitted on the panel for models that are measured on a given subset of its tasks."""

    values: pd.DataFrame
    """The panel's scores on these tasks."""
    target: np.ndarray
    """The panel's first principal component over all its tasks."""
    learned: RidgeFit


def fit(panel: pd.DataFrame, tasks: list[str], families: pd.Series) -> Fitted:
    """Fit the prediction of models measured on these tasks."""
    values = panel.loc[:, panel.columns.isin(tasks)]
    scores = values.to_numpy(dtype=float)
    standard = (scores - scores.mean(axis=0)) / scores.std(axis=0)
    target = principal_components(panel).scores["PC1"].to_numpy()
    groups = group_families(families.reindex(panel.index))[0]
    return Fitted(values, target, fit_ridge(standard, target, groups))


def place(measured: pd.Series, stderrs: pd.Series, fitted: Fitted) -> dict[str, Any]:
    """Place a model measured on some of the panel's tasks, with the panel's units, protocol and metrics.

    The first principal component is predicted as b'z from the standardised scores z on the measured
    tasks, by ridge regression over the panel's models. The interval is that of a family not in the panel
    (`ridge_by_family.fit_ridge`), so it may be too wide for a model with siblings in the panel. The error
    from the model's standard errors s, 1.96 sqrt(sum (b_t s_t / sd_t)^2), is added in quadrature, although
    the panel's prediction errors already include similar item errors; an unknown error adds nothing.
    `fitted` is the result of `fit` for these tasks.

    Return pc1 with its interval, their ranks among the panel's models, and the tasks on which the model is
    outside the panel's range, where the prediction is unreliable.
    """
    panel, learned = fitted.values, fitted.learned
    scores, spread = measured.reindex(panel.columns).astype(float), panel.std(ddof=0)
    standard = ((scores - panel.mean()) / spread).to_numpy()[None]
    pc1, panel_width = (float(numbers[0]) for numbers in learned.predict(standard))
    errors = stderrs.reindex(panel.columns).astype(float) / spread * learned.weights[1:]
    own_width = NORMAL * np.sqrt((errors**2).sum())
    half_width = float(np.hypot(panel_width, own_width))
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
        "outside": list(scores.index[outside]),
    }
