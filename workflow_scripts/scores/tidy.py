"""Collect a study's scores into one tidy table, a row per number, with their standard errors from shared items."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import open_atomic_path
from workflow_scripts.core.measurement_conditions import CONDITIONS, Condition
from workflow_scripts.core.records import FailedRecord, Metric, Record, read_record
from workflow_scripts.scores.columns import COLUMNS, describe_record
from workflow_scripts.scores.errors import replace_zero_stderr
from workflow_scripts.scores.foreign.cells import ImportedCell, ImportedScore, read_cells
from workflow_scripts.scores.imported import read_imported
from workflow_scripts.scores.influences import item_errors

_ORDER = ["study", "protocol", "task", "model", "variant", "metric", "subset", "seed"]
_ORDER += ["dtype", "commit", *CONDITIONS]


def read_records(paths: Sequence[Path]) -> list[tuple[Path, Record]]:
    """Read records; all problems are raised together, and failed cells are printed and skipped."""
    records, problems = [], []
    for path in paths:
        try:
            record = read_record(path)
        except UserError as error:
            problems += error.problems
            continue
        if isinstance(record, FailedRecord):
            print(f"{path} is of a broken cell, and left out.")
        else:
            records.append((path, record))
    if problems:
        raise UserError(problems)
    return records


def collect(records: Iterable[Record]) -> pd.DataFrame:
    """Build the table of scores from records."""
    return sort_scores(tidy([row for record in records for row in make_record_rows(record)]))


def tidy(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Build a table of scores from rows, unsorted."""
    return replace_zero_stderr(pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS))


def sort_scores(scores: pd.DataFrame) -> pd.DataFrame:
    return scores.sort_values(_ORDER, ignore_index=True, kind="stable")


def read_all_imported(
    paths: Sequence[Path], metrics: Mapping[str, str], taken: set[str]
) -> list[pd.DataFrame]:
    """Read the scores of each file; `taken` are names of studies that no file may have."""
    names = [*taken, *(path.stem for path in paths)]
    for path in paths:
        if names.count(path.stem) > 1:
            raise UserError(f"{path}: other scores go by the name {path.stem!r}; rename the file.")
    return [read_imported(path, metrics) for path in paths]


def make_record_rows(record: Record) -> list[dict[str, Any]]:
    """Build the rows of a record, one per metric."""
    fields = describe_record(record)
    return [
        fields | (metric.condition or Condition()).model_dump() | describe_score(metric)
        for metric in record.metrics
    ]


def make_cell_rows(cell: ImportedCell) -> list[dict[str, Any]]:
    """Build the rows of an imported cell, one per score."""
    fields = cell.model_dump(include=set(COLUMNS))
    return [fields | describe_score(score) for score in cell.scores]


def describe_score(score: Metric | ImportedScore) -> dict[str, Any]:
    """Return the columns of a score; its baseline is the better of a constant and a random answer."""
    baselines = [
        baseline for baseline in (score.best_constant, score.chance) if baseline is not None
    ]
    columns = {"metric": score.name, "baseline": max(baselines, default=None)}
    return columns | score.model_dump(include={"subset", "value", "stderr", "n", "chance"})


def write_parquet(scores: pd.DataFrame, path: Path) -> None:
    with open_atomic_path(path) as temporary:
        scores.to_parquet(temporary, index=False)


def collect_scores(
    records: list[Path], scores: Path, errors: Path, imports: Sequence[Path] = ()
) -> None:
    """Write the scores of records and imported cells, and their errors from shared items."""
    measured = read_records(records)
    imported = [(folder, cell) for folder in imports for cell in read_cells(folder)]
    rows = [row for _, record in measured for row in make_record_rows(record)]
    rows += [row for _, cell in imported for row in make_cell_rows(cell)]
    write_parquet(sort_scores(tidy(rows)), scores)
    write_parquet(item_errors(measured, imported), errors)


if "snakemake" in globals():
    run_job(collect_scores, snakemake)
