"""Ranges of metrics, and standard errors where no item or every item is right and the plain formula gives 0."""

import numpy as np
import pandas as pd

from workflow_scripts.stats.proportions import compute_share_stderr

# By the metric's name without its filter; the ranges of others are unknown.
RANGES = {
    **dict.fromkeys(("acc", "acc_norm", "exact_match", "em", "qem", "f1"), (0.0, 1.0)),
    **dict.fromkeys(("acc_strict", "format_met"), (0.0, 1.0)),
    "mcc": (-1.0, 1.0),
}


def strip_filter(metric: str) -> str:
    """Strip lm-eval's filter from the name of a metric."""
    return metric.split(",")[0]


def get_metric_minimum(metrics: pd.Series) -> pd.Series:
    """Return the lowest possible value of each metric, also as a mean over parts of a task; NaN where unknown."""
    lowest = {
        metric: RANGES.get(strip_filter(metric).removesuffix("_macro"), (np.nan,))[0]
        for metric in metrics.dropna().unique()
    }
    return metrics.map(lowest).astype(float)


def replace_zero_stderr(scores: pd.DataFrame) -> pd.DataFrame:
    """Replace standard errors of 0, which scores at the ends of their range have by the plain formula.

    Where the number of items is missing, the other scores of the task have it, or imply it by
    their errors; where these do not either, the error is missing.
    """
    lowest = get_metric_minimum(scores["metric"])
    value, error, n = (
        scores[name].astype("Float64").astype(float) for name in ("value", "stderr", "n")
    )
    zero = (error == 0) & value.between(lowest, 1)
    if not zero.any():
        return scores
    implied = ((1 - value) * (value - lowest) / error**2).where(error > 0)
    n_by_task = n.fillna(implied).groupby([scores["task"], scores["metric"]])
    n = n.fillna(n_by_task.transform("median"))
    error = error.mask(zero)
    sized = zero & (n >= 1)
    error[sized] = compute_share_stderr(value[sized], n[sized], lowest[sized])
    return scores.assign(stderr=error.astype("Float64"))
