"""The errors that a study's items give its scores: which models they move together, by task and metric."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import Metric, Record
from workflow_scripts.scores.foreign.cells import ImportedScore
from workflow_scripts.stats.item_errors import ItemErrors, measured_errors

COLUMNS = {
    **dict.fromkeys(("study", "protocol", "model", "variant", "dtype", "commit"), "string"),
    **dict.fromkeys(("task", "metric"), "string"),
    **{"items": "int64", "clusters": "int64", "own": "float64", "shared": "object"},
}
_MACRO = "_macro"
_SAME = 1e-6  # how near what is computed from the items must come to the record's own number


_Row = tuple[str, str, str, str, str, str]  # study, protocol, model, variant, dtype, commit


class ScoredRecord(NamedTuple):
    """What of a record decides how its items move scores; one that is imported has it too."""

    items: Path
    row: _Row
    task: str
    metrics: Sequence[Metric | ImportedScore]


def _scored(path: Path, record: Record) -> ScoredRecord:
    checkpoint = CheckpointId.parse(record.model.id)
    about = checkpoint.model, checkpoint.variant, record.protocol.dtype, record.model.commit
    row = record.study, record.protocol.name, *about
    return ScoredRecord(path.with_name(record.items.file), row, record.task.name, record.metrics)


class _Influences(NamedTuple):
    """By cluster of items what it adds to a score, beyond its share; and the variance that these items hide."""

    by_cluster: pd.Series
    hidden: float
    items: int


def item_errors(
    records: Iterable[tuple[Path, Record]], imported: Iterable[ScoredRecord] = ()
) -> pd.DataFrame:
    """A row for each score of a whole task that is a mean over its items, or Matthews' coefficient.

    Models and protocols of one task and metric, ours and imported ones, stand in one covariance: they were
    asked the same items. Several trainings of a cell are averaged, as their scores are.
    """
    found: dict[tuple[str, str], dict[_Row, list[_Influences]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for record in (*(_scored(*one) for one in records), *imported):
        items = _Items(record.items)
        for metric in record.metrics:
            if metric.subset is None and metric.condition is None:
                one = items.influences(metric)
                if one is not None:
                    found[record.task, metric.name][record.row].append(one)
    tables = [_rows(*key, dict(sorted(found[key].items()))) for key in sorted(found)]
    return pd.DataFrame([row for table in tables for row in table], columns=list(COLUMNS)).astype(
        COLUMNS
    )


def _rows(
    task: str, metric: str, of_task: dict[_Row, list[_Influences]]
) -> list[dict[str, object]]:
    by_cluster = pd.concat(
        [sum(one.by_cluster for one in ones) / len(ones) for ones in of_task.values()], axis=1
    )
    hidden = np.array([np.mean([one.hidden for one in ones]) for ones in of_task.values()])
    errors = measured_errors(by_cluster.fillna(0.0).to_numpy().T, hidden)
    return [
        dict(zip(list(COLUMNS), (*row, task, metric, items, clusters, own, shared), strict=True))
        for row, items, clusters, own, shared in zip(
            of_task,
            [ones[0].items for ones in of_task.values()],
            by_cluster.notna().sum(),
            errors.own,
            errors.shared,
            strict=True,
        )
    ]


class _Items:
    """Of one record, read once for all its metrics."""

    def __init__(self, path: Path):
        columns = ["item", "subset", "cluster", "gold", "prediction", "scores"]
        table = read_items(path).select(columns).to_pandas()
        self._table = table
        # Members of a group of tasks, such as subjects, are its clusters, where items have none.
        cluster = table["cluster"].fillna(table["subset"]).fillna(table["item"])
        self._clusters = cluster.to_numpy()
        self._scores = [dict(scores) for scores in table["scores"]]

    def influences(self, metric: Metric | ImportedScore) -> _Influences | None:
        """None for what is no mean over the items, such as a perplexity."""
        if metric.name.split(",")[0] == "mcc":
            value, added, least = matthews(self._table["gold"], self._table["prediction"])
        else:
            value, added, least = self._mean(metric.name)
        if not abs(value - metric.value) < _SAME:
            return None
        by_cluster = pd.Series(added).groupby(self._clusters, sort=False).sum()
        return _Influences(by_cluster, hidden_variance(added, least), len(added))

    def _mean(self, name: str) -> tuple[float, np.ndarray, float]:
        macro, name = name.endswith(_MACRO), name.removesuffix(_MACRO)
        values = np.array([scores.get(name, np.nan) for scores in self._scores], dtype=float)
        weights = np.full(len(values), 1 / len(values))
        if macro:
            sizes = self._table.groupby("subset")["item"].transform("size").to_numpy(float)
            weights = 1 / sizes / self._table["subset"].nunique()
        value = float(weights @ values)
        return value, weights * (values - value), least_variance(value, len(values))


def hidden_variance(added: np.ndarray, least: float) -> float:
    """By how much the items, each by itself, fall short of the least: 0 unless nearly all are alike."""
    return max(0.0, least - float((added**2).sum()))


def least_variance(share: float, n: int) -> float:
    """Of a share with two right and two wrong answers added to it: above 0 where all are alike."""
    if not 0 <= share <= 1:
        return 0.0
    p = (share * n + 2) / (n + 4)
    return p * (1 - p) / (n + 4)


def matthews(gold: pd.Series, prediction: pd.Series) -> tuple[float, np.ndarray, float]:
    """Matthews' coefficient, what each item adds to it, and its least variance, by the same addition.

    What an item adds is what one more like it would change, times n / (n + 1).
    """
    counts = pd.crosstab(gold, prediction)
    labels = counts.index.union(counts.columns)
    square = counts.reindex(index=labels, columns=labels, fill_value=0).to_numpy(float)
    value, by_cell = _changes(square)
    at = labels.get_indexer(gold), labels.get_indexer(prediction)
    added = by_cell[at]
    _, with_four = _changes(square + 4 / square.size)
    n = square.sum() + 4
    mean = (square + 4 / square.size) / n
    centred = with_four - (mean * with_four).sum()
    return value, added - added.mean(), float((mean * centred**2).sum() * n)


def _changes(square: np.ndarray) -> tuple[float, np.ndarray]:
    """The coefficient of a table of counts, and what one more item in each cell changes."""
    value, changes = _coefficient(square), np.zeros_like(square)
    for cell in np.ndindex(square.shape):
        more = square.copy()
        more[cell] += 1
        changes[cell] = _coefficient(more) - value
    return value, changes


def _coefficient(square: np.ndarray) -> float:
    n, right = square.sum(), np.trace(square)
    gold, predicted = square.sum(axis=1), square.sum(axis=0)
    spread = (n**2 - gold @ gold) * (n**2 - predicted @ predicted)
    return float((right * n - gold @ predicted) / np.sqrt(spread)) if spread else 0.0


def errors_by_row(table: pd.DataFrame, columns: list[str]) -> tuple[pd.MultiIndex, ItemErrors]:
    """Of one task and metric; what tells its rows apart stands in these columns."""
    index = pd.MultiIndex.from_frame(table[columns])
    return index, ItemErrors(np.stack(table["shared"].to_list()), table["own"].to_numpy(float))
