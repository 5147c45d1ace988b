"""Compute the covariance of scores from sampling a task's items, by task and metric."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import Metric, Record
from workflow_scripts.scores.columns import describe_record
from workflow_scripts.scores.errors import strip_filter
from workflow_scripts.scores.foreign.cells import ImportedCell, ImportedScore
from workflow_scripts.stats.item_errors import ItemErrors, build_measured_errors

_ROW = ("study", "protocol", "model", "variant", "dtype", "commit")
COLUMNS = {
    **dict.fromkeys((*_ROW, "task", "metric"), "string"),
    "items": "int64",
    "clusters": "int64",
    "own": "float64",
    "shared": "object",
}
TOLERANCE = 1e-6  # between the score computed from items and the record's


class Influences(NamedTuple):
    """The influence of each item cluster on a score, and the variance that these items do not show."""

    by_cluster: pd.Series
    hidden: float
    items: int


def item_errors(
    records: Iterable[tuple[Path, Record]], imported: Iterable[tuple[Path, ImportedCell]] = ()
) -> pd.DataFrame:
    """Compute a row of errors for each whole-task score that is a mean over items or Matthews' coefficient.

    All models and protocols of one task and metric, measured or imported, share one covariance, as they answer
    the same items. Training runs of a cell with several seeds are averaged, as their scores are. `imported` has each
    cell with its folder.
    """
    by_score: dict[tuple[str, str], Any] = defaultdict(lambda: defaultdict(list))
    for path, fields, metrics in _list_scored(records, imported):
        items = read_items(path).to_pandas()
        row = tuple(fields[name] or "" for name in _ROW)
        for metric in metrics:
            if metric.subset is None and metric.condition is None:
                influences = compute_influences(items, metric)
                if influences is not None:
                    by_score[fields["task"], metric.name][row].append(influences)
    tables = [_build_table(*key, by_score[key]) for key in sorted(by_score)]
    empty = pd.DataFrame(columns=list(COLUMNS))
    return pd.concat(tables or [empty], ignore_index=True).astype(COLUMNS)


def _list_scored(
    records: Iterable[tuple[Path, Record]], imported: Iterable[tuple[Path, ImportedCell]]
) -> Iterator[tuple[Path, dict[str, Any], Sequence[Metric | ImportedScore]]]:
    """Yield items file, description and scores of each record and of each imported cell that has items."""
    for path, record in records:
        yield path.with_name(record.items.file), describe_record(record), record.metrics
    for folder, cell in imported:
        if cell.items:
            yield folder / cell.items.file, cell.model_dump(), cell.scores


def _build_table(task: str, metric: str, by_row: dict[tuple, list[Influences]]) -> pd.DataFrame:
    rows = sorted(by_row)
    seeds = [by_row[row] for row in rows]
    means = [sum(seed.by_cluster for seed in group) / len(group) for group in seeds]
    by_cluster = pd.concat(means, axis=1)
    hidden = np.array([np.mean([seed.hidden for seed in group]) for group in seeds])
    errors = build_measured_errors(by_cluster.fillna(0.0).to_numpy().T, hidden)
    return pd.DataFrame(rows, columns=list(_ROW)).assign(
        task=task,
        metric=metric,
        items=[group[0].items for group in seeds],
        clusters=by_cluster.notna().sum().to_numpy(),
        own=errors.own,
        shared=list(errors.shared),
    )


def compute_influences(items: pd.DataFrame, metric: Metric | ImportedScore) -> Influences | None:
    """Compute the influence of items on a score; None for metrics that are no mean over items, such as perplexity."""
    if strip_filter(metric.name) == "mcc":
        value, influence, least = compute_matthews(items["gold"], items["prediction"])
    else:
        name = metric.name.removesuffix("_macro")
        values = np.array([dict(scores).get(name, np.nan) for scores in items["scores"]], float)
        weights = np.full(len(values), 1 / len(values))
        if name != metric.name:
            sizes = items.groupby("subset")["item"].transform("size").to_numpy(float)
            weights = 1 / sizes / items["subset"].nunique()
        value = float(weights @ values)
        influence, least = weights * (values - value), compute_least_variance(value, len(values))
    if not abs(value - metric.value) < TOLERANCE:
        return None
    # Without clusters, the members of a task group, such as subjects, are the clusters.
    clusters = items["cluster"].fillna(items["subset"]).fillna(items["item"])
    by_cluster = pd.Series(influence).groupby(clusters.to_numpy(), sort=False).sum()
    # Shortfall of the items' variance from the least variance: 0 unless nearly all items are alike.
    hidden = max(0.0, least - float((influence**2).sum()))
    return Influences(by_cluster, hidden, len(influence))


def compute_least_variance(share: float, n: int) -> float:
    """Compute the variance of a fraction after adding two correct and two wrong answers, so that it is above 0."""
    if not 0 <= share <= 1:
        return 0.0
    p = (share * n + 2) / (n + 4)
    return p * (1 - p) / (n + 4)


def compute_matthews(gold: pd.Series, prediction: pd.Series) -> tuple[float, np.ndarray, float]:
    """Compute Matthews' coefficient, the influence of each item, and the least variance after the same addition.

    The influence of an item is the change of the coefficient if the item is repeated, times n / (n + 1).
    """
    labels, codes = np.unique([gold, prediction], return_inverse=True)
    cells = tuple(codes.reshape(2, -1))
    counts = np.zeros((len(labels), len(labels)))
    np.add.at(counts, cells, 1)
    influence = _compute_changes(counts)[cells]
    smoothed = counts + 4 / counts.size
    changes, shares = _compute_changes(smoothed), smoothed / smoothed.sum()
    least = (shares * (changes - (shares * changes).sum()) ** 2).sum() * smoothed.sum()
    return _compute_coefficient(counts), influence - influence.mean(), float(least)


def _compute_changes(counts: np.ndarray) -> np.ndarray:
    """Compute the change of the coefficient if each cell of a table of counts gets one more item."""
    changed = [
        _compute_coefficient(counts + cell.reshape(counts.shape)) for cell in np.eye(counts.size)
    ]
    return np.reshape(changed, counts.shape) - _compute_coefficient(counts)


def _compute_coefficient(counts: np.ndarray) -> float:
    n, gold, predicted = counts.sum(), counts.sum(axis=1), counts.sum(axis=0)
    spread = (n**2 - gold @ gold) * (n**2 - predicted @ predicted)
    return float((np.trace(counts) * n - gold @ predicted) / np.sqrt(spread)) if spread else 0.0


def get_row_errors(table: pd.DataFrame, columns: list[str]) -> tuple[pd.MultiIndex, ItemErrors]:
    """Return the errors of one task and metric, with `columns` as the index of the rows."""
    index = pd.MultiIndex.from_frame(table[columns])
    return index, ItemErrors(np.stack(table["shared"].to_list()), table["own"].to_numpy(float))
