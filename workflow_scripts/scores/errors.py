"""Standard errors of scores, also of none and all items right, where the plain formula gives 0."""

import numpy as np
import pandas as pd

from workflow_scripts.stats.shares import share_error

# What a score can be at all, by the metric's name without its filter; others are taken as they are.
RANGES = {
    **dict.fromkeys(("acc", "acc_norm", "exact_match", "em", "qem", "f1"), (0.0, 1.0)),
    **dict.fromkeys(("acc_strict", "format_met"), (0.0, 1.0)),
    "mcc": (-1.0, 1.0),
}


def bare(metric: str) -> str:
    """The name of a metric without lm-eval's filter."""
    return metric.split(",")[0]


def get_metric_minimum(metrics: pd.Series) -> pd.Series:
    """What each can be at least, also as a mean over parts of a task; NaN where that is not known."""
    names = {one: bare(one).removesuffix("_macro") for one in metrics.dropna().unique()}
    least = {one: RANGES.get(name, (np.nan,))[0] for one, name in names.items()}
    return metrics.map(least).astype(float)


def replace_zero_stderr(scores: pd.DataFrame) -> pd.DataFrame:
    """Without errors of 0, which none or all items right have by the plain formula, however few they are.

    Where a file does not say how many items there were, the other scores of the task do, or tell it by
    their errors; where these tell nothing either, the error is not known.
    """
    lowest = get_metric_minimum(scores["metric"])
    value, error, n = (
        scores[name].astype("Float64").astype(float) for name in ("value", "stderr", "n")
    )
    none = (error == 0) & value.between(lowest, 1)
    if not none.any():
        return scores
    told = ((1 - value) * (value - lowest) / error**2).where(error > 0)
    of_task = n.fillna(told).groupby([scores["task"], scores["metric"]])
    n = n.fillna(of_task.transform("median"))
    error = error.mask(none)
    some = none & (n >= 1)
    error[some] = share_error(value[some], n[some], lowest[some])
    return scores.assign(stderr=error.astype("Float64"))
