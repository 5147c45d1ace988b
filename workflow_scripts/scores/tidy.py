"""Collect a study's scores into one tidy table, a row per number, with their standard errors from shared items."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.files import open_atomic_path
from workflow_scripts.core.items import read_items
from workflow_scripts.core.measurement_conditions import CONDITIONS, Condition
from workflow_scripts.core.records import Metric, read_records
from workflow_scripts.scores.columns import COLUMNS, describe_record
from workflow_scripts.scores.errors import replace_zero_stderr
from workflow_scripts.scores.foreign.imports import read_folder
from workflow_scripts.scores.influences import Influences, item_errors, list_influences

_ORDER = ["study", "protocol", "task", "model", "variant", "metric", "subset", "seed"]
_ORDER += ["dtype", "commit", *CONDITIONS]


def sort_scores(scores: pd.DataFrame) -> pd.DataFrame:
    return scores.sort_values(_ORDER, ignore_index=True, kind="stable")


def make_rows(fields: dict[str, Any], metrics: Iterable[Metric]) -> list[dict[str, Any]]:
    """Build a row for each metric; `fields` has the columns that they share."""
    return [
        fields | (metric.condition or Condition()).model_dump() | describe_score(metric)
        for metric in metrics
    ]


def describe_score(score: Metric) -> dict[str, Any]:
    """Return the columns of a score; its baseline is the better of a constant and a random answer."""
    baselines = [
        baseline for baseline in (score.best_constant, score.chance) if baseline is not None
    ]
    columns = {"metric": score.name, "baseline": max(baselines, default=None)}
    return columns | score.model_dump(include={"subset", "value", "stderr", "n", "chance"})


def write_parquet(scores: pd.DataFrame, path: Path) -> None:
    with open_atomic_path(path) as temporary:
        scores.to_parquet(temporary, index=False)


def read_measured(
    records: Sequence[Path], folders: Mapping[str, str], harness_tasks: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], Sequence[Metric], pd.DataFrame]]:
    """Read the shared columns, scores and items of each record and of each cell of the imported folders."""
    for path, record in read_records(records):
        items = read_items(path).to_pandas()
        yield describe_record(record), record.metrics, items
    for name, folder in folders.items():
        for cell, answers in read_folder(Path(folder), **harness_tasks):
            fields = cell.model_dump(exclude={"scores"}) | {"study": name}
            yield fields, cell.scores, pd.DataFrame(map(vars, answers))


def collect_scores(
    records: Sequence[Path], folders: Mapping[str, str], harness_tasks: Mapping[str, Any]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Collect the scores of records and of folders to import, by their names, and their errors from shared items."""
    rows: list[dict[str, Any]] = []
    influences: list[Influences] = []
    for fields, metrics, items in read_measured(records, folders, harness_tasks):
        rows += make_rows(fields, metrics)
        influences += list_influences(fields, metrics, items)
    scores = pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)
    return sort_scores(replace_zero_stderr(scores)), item_errors(influences)


def main(
    records: list[Path],
    scores: Path,
    errors: Path,
    folders: Mapping[str, str],
    harness_tasks: Mapping[str, Any],
) -> None:
    tables = collect_scores(records, folders, harness_tasks)
    write_parquet(tables[0], scores)
    write_parquet(tables[1], errors)


if "snakemake" in globals():
    run_job(main, snakemake)
