"""Compute the covariance of scores from sampling a task's items, by task and metric."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.core.records import Score
from workflow_scripts.scores.metric_ranges import TOLERANCE, strip_filter
from workflow_scripts.stats.item_errors import ItemErrors, build_measured_errors

# The columns that identify a score with item errors, besides task and metric.
SCORE_KEY = ["study", "protocol", "model", "variant", "dtype", "commit"]
_COLUMNS = dict.fromkeys((*SCORE_KEY, "task", "metric"), "string") | {
    "own": "float64",
    "shared": "object",
}


def list_influences(
    fields: Mapping[str, Any], metrics: Iterable[Score], items: pd.DataFrame
) -> Iterator[dict[str, Any]]:
    """Compute the influence of items on each whole-task score that is a mean over them or Matthews' coefficient.

    `fields` has the columns that the scores share. A row adds the influence of each cluster of items, and the variance
    that these items do not show.
    """
    row = {name: fields[name] or "" for name in [*SCORE_KEY, "task"]}
    for metric in metrics:
        if len(items) and metric.subset is None and metric.condition is None:
            influences = compute_influences(items, metric)
            if influences is not None:
                by_cluster, hidden = influences
                yield row | {"metric": metric.name, "by_cluster": by_cluster, "hidden": hidden}


def compute_item_errors(influences: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Compute a row of errors for each score.

    All models and protocols of one task and metric, measured or imported, share one covariance, as they answer
    the same items. Training runs of a cell with several seeds are averaged, as their scores are.
    """
    tables = [pd.DataFrame(columns=list(_COLUMNS))]
    rows = pd.DataFrame(influences, columns=[*SCORE_KEY, "task", "metric", "by_cluster", "hidden"])
    for (task, metric), group in rows.groupby(["task", "metric"]):
        scores = [group[name] for name in SCORE_KEY]
        by_cluster = pd.concat(list(group["by_cluster"]), axis=1).fillna(0.0).T
        by_cluster = by_cluster.set_axis(group.index).groupby(scores).mean()
        hidden = group["hidden"].astype(float).groupby(scores).mean()
        errors = build_measured_errors(by_cluster.to_numpy(), hidden.to_numpy())
        table = hidden.index.to_frame(index=False).assign(task=task, metric=metric)
        tables.append(table.assign(own=errors.independent, shared=list(errors.shared)))
    return pd.concat(tables, ignore_index=True).astype(_COLUMNS)


def compute_influences(items: pd.DataFrame, metric: Score) -> tuple[pd.Series, float] | None:
    """Compute the influence of item clusters on a score, and the variance that these items do not show.

    Return None for a metric that is neither a mean over items nor Matthews' coefficient, such as perplexity.
    """
    if strip_filter(metric.name) == "mcc":
        value, influences, min_variance = compute_matthews(items["gold"], items["prediction"])
    else:
        name = metric.name.removesuffix("_macro")
        values = np.array([dict(scores).get(name, np.nan) for scores in items["scores"]], float)
        weights = np.full(len(values), 1 / len(values))
        if name != metric.name:
            sizes = items.groupby("subset")["item"].transform("size").to_numpy(float)
            weights = 1 / sizes / items["subset"].nunique()
        value = float(weights @ values)
        influences = weights * (values - value)
        min_variance = compute_min_variance(value, len(values))
    if not abs(value - metric.value) < TOLERANCE:
        return None
    # Without clusters, the members of a task group, such as subjects, are the clusters.
    clusters = items["cluster"].fillna(items["subset"]).fillna(items["item"])
    by_cluster = pd.Series(influences).groupby(clusters.to_numpy(), sort=False).sum()
    # How far the items' variance is below the minimum: 0 unless nearly all answers are correct, or nearly all wrong.
    return by_cluster, max(0.0, min_variance - float((influences**2).sum()))


def compute_min_variance(accuracy: float, n: int) -> float:
    """Compute the variance of an accuracy after adding two correct and two wrong answers, so that it is above 0."""
    if not 0 <= accuracy <= 1:
        return 0.0
    p = (accuracy * n + 2) / (n + 4)
    return p * (1 - p) / (n + 4)


def compute_matthews(gold: pd.Series, prediction: pd.Series) -> tuple[float, np.ndarray, float]:
    """Compute Matthews' coefficient, the influence of each item, and the minimum variance.

    The influence of an item is the change of the coefficient if the item is repeated, times n / (n + 1). The minimum
    variance is that after adding four answers, spread evenly over the table of counts.
    """
    labels, codes = np.unique([gold, prediction], return_inverse=True)
    pairs = tuple(codes.reshape(2, -1))
    counts = np.zeros((len(labels), len(labels)))
    np.add.at(counts, pairs, 1)
    influences = _compute_changes(counts)[pairs]
    smoothed = counts + 4 / counts.size
    changes = _compute_changes(smoothed)
    fractions = smoothed / smoothed.sum()
    deviations = changes - (fractions * changes).sum()
    min_variance = (fractions * deviations**2).sum() * smoothed.sum()
    return _compute_coefficient(counts), influences - influences.mean(), float(min_variance)


def _compute_changes(counts: np.ndarray) -> np.ndarray:
    """Compute the change of the coefficient if each cell of a table of counts gets one more item."""
    changed = [
        _compute_coefficient(counts + cell.reshape(counts.shape)) for cell in np.eye(counts.size)
    ]
    return np.reshape(changed, counts.shape) - _compute_coefficient(counts)


def _compute_coefficient(counts: np.ndarray) -> float:
    from sklearn.metrics import matthews_corrcoef  # slow to import, used only here

    gold, prediction = np.indices(counts.shape).reshape(2, -1)
    return matthews_corrcoef(gold, prediction, sample_weight=counts.ravel())


def get_row_errors(table: pd.DataFrame, columns: list[str]) -> tuple[pd.MultiIndex, ItemErrors]:
    """Return the rows of one task and metric as item errors, and `columns` of these rows as their index."""
    index = pd.MultiIndex.from_frame(table[columns])
    return index, ItemErrors(np.stack(table["shared"].to_list()), table["own"].to_numpy(float))
