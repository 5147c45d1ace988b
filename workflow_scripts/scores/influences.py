"""The errors that a study's items give its scores: which models they move together, by task and metric."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import pandas as pd

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import ItemsFile, Metric, Record
from workflow_scripts.scores.errors import bare
from workflow_scripts.scores.foreign.cells import ImportedCell, ImportedScore
from workflow_scripts.stats.item_errors import ItemErrors, measured_errors

_ROW = ("study", "protocol", "model", "variant", "dtype", "commit")
COLUMNS = {
    **dict.fromkeys((*_ROW, "task", "metric"), "string"),
    **{"items": "int64", "clusters": "int64", "own": "float64", "shared": "object"},
}
TOLERANCE = 1e-6  # between a score of the items and the record's own number


class ScoredRecord(NamedTuple):
    """The items and scores of a record, or of an imported cell."""

    items: Path
    row: tuple[str, str, str, str, str, str]  # study, protocol, model, variant, dtype, commit
    task: str
    metrics: Sequence[Metric | ImportedScore]

    @classmethod
    def from_record(cls, path: Path, record: Record) -> Self:
        checkpoint = CheckpointId.parse(record.model.id)
        model = checkpoint.model, checkpoint.variant, record.protocol.dtype, record.model.commit
        row = (record.study, record.protocol.name, *model)
        return cls(path.with_name(record.items.file), row, record.task.name, record.metrics)

    @classmethod
    def from_cell(cls, folder: Path, cell: ImportedCell, items: ItemsFile) -> Self:
        model = cell.model, cell.variant, cell.dtype or "", cell.commit or ""
        return cls(folder / items.file, (cell.study, cell.protocol, *model), cell.task, cell.scores)


class Influences(NamedTuple):
    """The difference that each cluster of items makes to a score, and the variance that these items hide."""

    by_cluster: pd.Series
    hidden: float
    items: int


def item_errors(
    records: Iterable[tuple[Path, Record]], imported: Iterable[ScoredRecord] = ()
) -> pd.DataFrame:
    """Compute a row for each score of a whole task that is a mean over its items, or Matthews' coefficient.

    Models and protocols of one task and metric, ours and imported ones, share one covariance, as they
    answer the same items. Several trainings of a cell are averaged, as their scores are.
    """
    by_score: dict = defaultdict(lambda: defaultdict(list))
    for record in (*(ScoredRecord.from_record(*pair) for pair in records), *imported):
        items = read_items(record.items).to_pandas()
        for metric in record.metrics:
            if metric.subset is None and metric.condition is None:
                influences = compute_influences(items, metric)
                if influences is not None:
                    by_score[record.task, metric.name][record.row].append(influences)
    tables = [_build_table(*key, by_score[key]) for key in sorted(by_score)]
    empty = pd.DataFrame(columns=list(COLUMNS))
    return pd.concat(tables or [empty], ignore_index=True).astype(COLUMNS)


def _build_table(task: str, metric: str, by_row: dict[tuple, list[Influences]]) -> pd.DataFrame:
    rows = sorted(by_row)
    seeds = [by_row[row] for row in rows]
    means = [sum(seed.by_cluster for seed in group) / len(group) for group in seeds]
    by_cluster = pd.concat(means, axis=1)
    hidden = np.array([np.mean([seed.hidden for seed in group]) for group in seeds])
    errors = measured_errors(by_cluster.fillna(0.0).to_numpy().T, hidden)
    return pd.DataFrame(rows, columns=list(_ROW)).assign(
        task=task,
        metric=metric,
        items=[group[0].items for group in seeds],
        clusters=by_cluster.notna().sum().to_numpy(),
        own=errors.own,
        shared=list(errors.shared),
    )


def compute_influences(items: pd.DataFrame, metric: Metric | ImportedScore) -> Influences | None:
    """Compute the influence of items on a score; None for what is no mean over them, such as a perplexity."""
    if bare(metric.name) == "mcc":
        value, influence, least = matthews(items["gold"], items["prediction"])
    else:
        name = metric.name.removesuffix("_macro")
        values = np.array([dict(scores).get(name, np.nan) for scores in items["scores"]], float)
        weights = np.full(len(values), 1 / len(values))
        if name != metric.name:
            sizes = items.groupby("subset")["item"].transform("size").to_numpy(float)
            weights = 1 / sizes / items["subset"].nunique()
        value = float(weights @ values)
        influence, least = weights * (values - value), least_variance(value, len(values))
    if not abs(value - metric.value) < TOLERANCE:
        return None
    # Members of a group of tasks, such as subjects, are its clusters, where items have none.
    clusters = items["cluster"].fillna(items["subset"]).fillna(items["item"])
    by_cluster = pd.Series(influence).groupby(clusters.to_numpy(), sort=False).sum()
    # How far independent items fall short of the least variance: 0 unless nearly all are alike.
    hidden = max(0.0, least - float((influence**2).sum()))
    return Influences(by_cluster, hidden, len(influence))


def least_variance(share: float, n: int) -> float:
    """Compute the variance of a share with two right and two wrong answers added: above 0 where all are alike."""
    if not 0 <= share <= 1:
        return 0.0
    p = (share * n + 2) / (n + 4)
    return p * (1 - p) / (n + 4)


def matthews(gold: pd.Series, prediction: pd.Series) -> tuple[float, np.ndarray, float]:
    """Compute Matthews' coefficient, the influence of each item, and its least variance, by the same addition.

    The influence of an item is the change by another one like it, times n / (n + 1).
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
    """Compute the change of the coefficient by one more item in each cell of a table of counts."""
    changed = [
        _compute_coefficient(counts + cell.reshape(counts.shape)) for cell in np.eye(counts.size)
    ]
    return np.reshape(changed, counts.shape) - _compute_coefficient(counts)


def _compute_coefficient(counts: np.ndarray) -> float:
    n, gold, predicted = counts.sum(), counts.sum(axis=1), counts.sum(axis=0)
    spread = (n**2 - gold @ gold) * (n**2 - predicted @ predicted)
    return float((np.trace(counts) * n - gold @ predicted) / np.sqrt(spread)) if spread else 0.0


def get_row_errors(table: pd.DataFrame, columns: list[str]) -> tuple[pd.MultiIndex, ItemErrors]:
    """Return the errors of one task and metric, with these columns as the index of its rows."""
    index = pd.MultiIndex.from_frame(table[columns])
    return index, ItemErrors(np.stack(table["shared"].to_list()), table["own"].to_numpy(float))
