"""How alike measures of one kind rank models as measures of another do: tasks beside texts, for instance."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.stats.agreement import kendall_matrix


class CrossAgreement(NamedTuple):
    """Each has the measures of the first kind in rows and those of the second in columns."""

    kendall: pd.DataFrame
    pearson: pd.DataFrame
    models: pd.DataFrame
    """How many models have both."""


def cross_agreement(first: pd.DataFrame, second: pd.DataFrame) -> CrossAgreement:
    """Compute Kendall's tau-b and Pearson's r between each column of `first` and each of `second`.

    Over the models (rows) that have both; NaN where these are fewer than two, or all tied.
    """
    models = first.index.intersection(second.index, sort=False)
    together = pd.concat([first.loc[models], second.loc[models]], axis=1, keys=[0, 1])
    known = together.notna().astype(int)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = kendall_matrix(together), together.corr(min_periods=2), known.T @ known
    return CrossAgreement(*(one.loc[0, 1] for one in found))
