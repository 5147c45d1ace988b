"""Place a new model with a few scores on a panel of fully measured models."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.jackknife import group_families
from workflow_scripts.stats.principal import compute_principal_components
from workflow_scripts.stats.ridge_by_family import RidgeFit, fit_ridge
from workflow_scripts.stats.significance import NORMAL_HALF_WIDTH


class PanelFit(NamedTuple):
    """A prediction fitted on the panel for models that are measured on a given subset of its tasks."""

    scores: pd.DataFrame
    """The panel's scores on these tasks."""
    pc1: np.ndarray
    """The panel's first principal component over all its tasks."""
    ridge: RidgeFit
    """The prediction of `pc1` from the standardised `scores`."""


def fit_panel(panel: pd.DataFrame, tasks: list[str], families: pd.Series) -> PanelFit:
    """Fit the prediction for models that are measured on these tasks.

    `panel` has models in rows and tasks in columns, `families` the family of each of its models.
    """
    scores = panel.loc[:, panel.columns.isin(tasks)]
    values = scores.to_numpy(dtype=float)
    standard = (values - values.mean(axis=0)) / values.std(axis=0)
    pc1 = compute_principal_components(panel).scores["PC1"].to_numpy()
    groups = group_families(families.reindex(panel.index))[0]
    return PanelFit(scores, pc1, fit_ridge(standard, pc1, groups))


def place_model(measured: pd.Series, stderrs: pd.Series, fit: PanelFit) -> dict[str, Any]:
    """Place a model measured on some of the panel's tasks, with the panel's units, protocol and metrics.

    The first principal component is predicted as b'z from the standardised scores z on the measured
    tasks, by ridge regression over the panel's models. The interval is that of a family not in the panel
    (`ridge_by_family.fit_ridge`), so it may be too wide for a model with siblings in the panel. The error
    from the model's standard errors s, 1.96 sqrt(sum (b_t s_t / sd_t)^2), is added in quadrature, although
    the panel's prediction errors already include similar item errors; an unknown error adds nothing.
    `fit` is the result of `fit_panel` for these tasks.

    Return pc1 with its interval, their ranks among the panel's models, and the tasks on which the model is
    outside the panel's range, where the prediction is unreliable.
    """
    panel = fit.scores
    scores = measured.reindex(panel.columns).astype(float)
    spread = panel.std(ddof=0)
    standard = ((scores - panel.mean()) / spread).to_numpy()[None]
    pc1, prediction_width = (float(numbers[0]) for numbers in fit.ridge.predict(standard))
    errors = stderrs.reindex(panel.columns).astype(float) / spread * fit.ridge.weights[1:]
    measurement_width = NORMAL_HALF_WIDTH * np.sqrt((errors**2).sum())
    half_width = float(np.hypot(prediction_width, measurement_width))
    low = pc1 - half_width
    high = pc1 + half_width
    rank, best_rank, worst_rank = (1 + int((fit.pc1 > value).sum()) for value in (pc1, high, low))
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
