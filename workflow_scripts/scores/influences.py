"""The errors that a study's items give its scores: which models they move together, by task and metric."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import pandas as pd

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import ItemsFile, Metric, Record
from workflow_scripts.scores.foreign.cells import ImportedCell, ImportedScore
from workflow_scripts.stats.item_errors import ItemErrors, measured_errors

COLUMNS = {
    **dict.fromkeys(("study", "protocol", "model", "variant", "dtype", "commit"), "string"),
    **dict.fromkeys(("task", "metric"), "string"),
    **{"items": "int64", "clusters": "int64", "own": "float64", "shared": "object"},
}
TOLERANCE = 1e-6  # between a score of the items and the record's own number


class ScoredRecord(NamedTuple):
    """What of a record decides how its items move scores; one that is imported has it too."""

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
    """What each cluster of items adds to a score, beyond its share; and the variance that these items hide."""

    by_cluster: pd.Series
    hidden: float
    items: int


def item_errors(
    records: Iterable[tuple[Path, Record]], imported: Iterable[ScoredRecord] = ()
) -> pd.DataFrame:
    """Compute a row for each score of a whole task that is a mean over its items, or Matthews' coefficient.

    Models and protocols of one task and metric, ours and imported ones, stand in one covariance: they were
    asked the same items. Several trainings of a cell are averaged, as their scores are.
    """
    by_score: dict[tuple[str, str], dict[tuple, list[Influences]]] = {}
    for record in (*(ScoredRecord.from_record(*pair) for pair in records), *imported):
        items = read_items(record.items).to_pandas()
        for metric in record.metrics:
            if metric.subset is None and metric.condition is None:
                influences = compute_influences(items, metric)
                if influences is not None:
                    of_score = by_score.setdefault((record.task, metric.name), {})
                    of_score.setdefault(record.row, []).append(influences)
    tables = [_make_table(*key, by_score[key]) for key in sorted(by_score)]
    empty = pd.DataFrame(columns=list(COLUMNS))
    return pd.concat(tables or [empty], ignore_index=True).astype(COLUMNS)


def _make_table(task: str, metric: str, by_row: dict[tuple, list[Influences]]) -> pd.DataFrame:
    rows = sorted(by_row)
    groups = [by_row[row] for row in rows]
    means = [sum(one.by_cluster for one in group) / len(group) for group in groups]
    by_cluster = pd.concat(means, axis=1)
    hidden = np.array([np.mean([one.hidden for one in group]) for group in groups])
    errors = measured_errors(by_cluster.fillna(0.0).to_numpy().T, hidden)
    return pd.DataFrame(rows, columns=list(COLUMNS)[:6]).assign(
        task=task,
        metric=metric,
        items=[group[0].items for group in groups],
        clusters=by_cluster.notna().sum().to_numpy(),
        own=errors.own,
        shared=list(errors.shared),
    )


def compute_influences(items: pd.DataFrame, metric: Metric | ImportedScore) -> Influences | None:
    """Compute what items add to a score; None for what is no mean over them, such as a perplexity."""
    if metric.name.split(",")[0] == "mcc":
        value, added, least = matthews(items["gold"], items["prediction"])
    else:
        name = metric.name.removesuffix("_macro")
        values = np.array([dict(scores).get(name, np.nan) for scores in items["scores"]], float)
        weights = np.full(len(values), 1 / len(values))
        if name != metric.name:
            sizes = items.groupby("subset")["item"].transform("size").to_numpy(float)
            weights = 1 / sizes / items["subset"].nunique()
        value = float(weights @ values)
        added, least = weights * (values - value), least_variance(value, len(values))
    if not abs(value - metric.value) < TOLERANCE:
        return None
    # Members of a group of tasks, such as subjects, are its clusters, where items have none.
    clusters = items["cluster"].fillna(items["subset"]).fillna(items["item"])
    by_cluster = pd.Series(added).groupby(clusters.to_numpy(), sort=False).sum()
    # What the items, each by itself, fall short of the least variance: 0 unless nearly all are alike.
    hidden = max(0.0, least - float((added**2).sum()))
    return Influences(by_cluster, hidden, len(added))


def least_variance(share: float, n: int) -> float:
    """Compute the variance of a share with two right and two wrong answers added: above 0 where all are alike."""
    if not 0 <= share <= 1:
        return 0.0
    p = (share * n + 2) / (n + 4)
    return p * (1 - p) / (n + 4)


def matthews(gold: pd.Series, prediction: pd.Series) -> tuple[float, np.ndarray, float]:
    """Compute Matthews' coefficient, what each item adds to it, and its least variance, by the same addition.

    What an item adds is what one more like it would change, times n / (n + 1).
    """
    counts = pd.crosstab(gold, prediction)
    labels = counts.index.union(counts.columns)
    square = counts.reindex(index=labels, columns=labels, fill_value=0).to_numpy(float)
    added = _compute_changes(square)[labels.get_indexer(gold), labels.get_indexer(prediction)]
    more = square + 4 / square.size
    changes, mean = _compute_changes(more), more / more.sum()
    least = float((mean * (changes - (mean * changes).sum()) ** 2).sum() * more.sum())
    return _compute_coefficient(square), added - added.mean(), least


def _compute_changes(square: np.ndarray) -> np.ndarray:
    """Compute what one more item in each cell of a table of counts changes."""
    value, changes = _compute_coefficient(square), np.zeros_like(square)
    for cell in np.ndindex(square.shape):
        more = square.copy()
        more[cell] += 1
        changes[cell] = _compute_coefficient(more) - value
    return changes


def _compute_coefficient(square: np.ndarray) -> float:
    n, right = square.sum(), np.trace(square)
    gold, predicted = square.sum(axis=1), square.sum(axis=0)
    spread = (n**2 - gold @ gold) * (n**2 - predicted @ predicted)
    return float((right * n - gold @ predicted) / np.sqrt(spread)) if spread else 0.0


def get_row_errors(table: pd.DataFrame, columns: list[str]) -> tuple[pd.MultiIndex, ItemErrors]:
    """Return the errors of one task and metric; what tells its rows apart stands in these columns."""
    index = pd.MultiIndex.from_frame(table[columns])
    return index, ItemErrors(np.stack(table["shared"].to_list()), table["own"].to_numpy(float))
