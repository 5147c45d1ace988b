"""Collect a study's scores into a tidy table, a row per number, and their errors from shared items into another."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.files import open_atomic_path
from workflow_scripts.core.items import read_items
from workflow_scripts.core.measurement_conditions import CONDITIONS, Condition
from workflow_scripts.core.records import Score, read_records
from workflow_scripts.scores.columns import COLUMNS, describe_record
from workflow_scripts.scores.foreign.result_folders import read_folder
from workflow_scripts.scores.influences import compute_item_errors, list_influences
from workflow_scripts.scores.metric_ranges import replace_zero_stderr

_ORDER = ["study", "protocol", "task", "model", "variant", "metric", "subset", "seed"]
_ORDER += ["dtype", "commit", *CONDITIONS]


def sort_scores(scores: pd.DataFrame) -> pd.DataFrame:
    return scores.sort_values(_ORDER, ignore_index=True, kind="stable")


def describe_score(score: Score) -> dict[str, Any]:
    """Return the columns of a score; its baseline is the higher score of the best constant and of random answers."""
    baselines = [
        baseline for baseline in (score.best_constant, score.chance) if baseline is not None
    ]
    columns = {"metric": score.name, "baseline": max(baselines, default=None)}
    return columns | score.model_dump(include={"subset", "value", "stderr", "n", "chance"})


def write_parquet(scores: pd.DataFrame, path: Path) -> None:
    with open_atomic_path(path) as temporary:
        scores.to_parquet(temporary, index=False)


def read_scores_and_items(
    records: Sequence[Path], folders: Mapping[str, str], harness_tasks: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], Sequence[Score], pd.DataFrame]]:
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
    """Return two tables: the scores of records and of import folders (by name), and their errors from shared items."""
    rows: list[dict[str, Any]] = []
    influences: list[dict[str, Any]] = []
    for fields, metrics, items in read_scores_and_items(records, folders, harness_tasks):
        for metric in metrics:
            condition = metric.condition or Condition()
            rows.append(fields | condition.model_dump() | describe_score(metric))
        influences += list_influences(fields, metrics, items)
    scores = pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)
    return sort_scores(replace_zero_stderr(scores)), compute_item_errors(influences)


def main(
    records: list[Path],
    scores: Path,
    errors: Path,
    folders: Mapping[str, str],
    harness_tasks: Mapping[str, Any],
) -> None:
    score_table, error_table = collect_scores(records, folders, harness_tasks)
    write_parquet(score_table, scores)
    write_parquet(error_table, errors)


if "snakemake" in globals():
    run_job(main, snakemake)
