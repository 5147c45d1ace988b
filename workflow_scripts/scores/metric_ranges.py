"""Check scores against the ranges of their metrics, and replace standard errors of 0 at the ends of the ranges."""

import numpy as np
import pandas as pd

from workflow_scripts.stats.proportions import compute_fraction_stderr

# By metric name without its filter; other metrics have unknown ranges.
RANGES = {
    **dict.fromkeys(("acc", "acc_norm", "exact_match", "em", "qem", "f1"), (0.0, 1.0)),
    **dict.fromkeys(("acc_strict", "format_met"), (0.0, 1.0)),
    "mcc": (-1.0, 1.0),
}
TOLERANCE = 1e-6  # of rounded scores, and between a score and the mean over its items


def strip_filter(metric: str) -> str:
    """Strip lm-eval's filter from the name of a metric."""
    return metric.split(",")[0]


def check_range(metric: str, value: float) -> None:
    """Raise ValueError if a value is outside the range of its metric."""
    low, high = RANGES.get(strip_filter(metric), (-np.inf, np.inf))
    if not low - TOLERANCE <= value <= high + TOLERANCE:
        raise ValueError(f"{metric} is {value:g}; expected {low:g} to {high:g}")


def get_metric_minimum(metrics: pd.Series) -> pd.Series:
    """Return the lowest possible value of each metric, including macro averages; NaN if unknown."""
    lowest = {
        metric: RANGES.get(strip_filter(metric).removesuffix("_macro"), (np.nan,))[0]
        for metric in metrics.dropna().unique()
    }
    return metrics.map(lowest).astype(float)


def replace_zero_stderr(scores: pd.DataFrame) -> pd.DataFrame:
    """Replace standard errors of 0, which the usual formula gives for scores at the ends of their range.

    A missing number of items is taken from the task's other scores, or computed from their standard
    errors; if neither is possible, the standard error becomes missing.
    """
    lowest = get_metric_minimum(scores["metric"])
    value, error, n = (
        scores[name].astype("Float64").astype(float) for name in ("value", "stderr", "n")
    )
    is_zero = (error == 0) & value.between(lowest, 1)
    implied_n = ((1 - value) * (value - lowest) / error**2).where(error > 0)
    n_by_task = n.fillna(implied_n).groupby([scores["task"], scores["metric"]])
    n = n.fillna(n_by_task.transform("median"))
    error = error.mask(is_zero, compute_fraction_stderr(value, n.where(n >= 1), lowest))
    return scores.assign(stderr=error.astype("Float64"))
