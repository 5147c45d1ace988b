"""How alike measures of one kind rank models as measures of another do: tasks beside texts, for instance."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.checks import checked_scores
from workflow_scripts.stats.orders import kendall


class CrossAgreement(NamedTuple):
    """Each has the measures of the first kind in rows and those of the second in columns."""

    kendall: pd.DataFrame
    pearson: pd.DataFrame
    models: pd.DataFrame
    """How many models have both."""


def cross_agreement(first: pd.DataFrame, second: pd.DataFrame) -> CrossAgreement:
    """Kendall's tau-b and Pearson's r between each column of `first` and each of `second`.

    Over the models (rows) that have both; NaN where these are fewer than two, or all tied.
    """
    models = first.index.intersection(second.index, sort=False)
    one, other = (
        checked_scores(first.loc[models], "first"),
        checked_scores(second.loc[models], "second"),
    )
    tau = kendall(np.hstack([one, other]))[: one.shape[1], one.shape[1] :]
    known = (~np.isnan(one)).astype(int).T @ (~np.isnan(other)).astype(int)
    pearson = [
        [_pearson(one[:, a], other[:, b]) for b in range(other.shape[1])]
        for a in range(one.shape[1])
    ]
    return CrossAgreement(
        *(pd.DataFrame(values, first.columns, second.columns) for values in (tau, pearson, known))
    )


def _pearson(first: np.ndarray, second: np.ndarray) -> float:
    both = ~np.isnan(first) & ~np.isnan(second)
    if both.sum() < 2 or np.ptp(first[both]) == 0 or np.ptp(second[both]) == 0:
        return float("nan")
    return float(np.corrcoef(first[both], second[both])[0, 1])
