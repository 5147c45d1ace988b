"""Tidy scores: one row per number, from records and from other people's CSV files."""

from pathlib import Path

import pandas as pd

from workflow_scripts.core.broken import is_broken
from workflow_scripts.core.errors import UserError, did_you_mean
from workflow_scripts.core.files import atomic_path
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.records import Metric, Record, read_record

COLUMNS = {
    "study": "string",
    "model": "string",
    "variant": "string",
    "task": "string",
    "subset": "string",
    "protocol": "string",
    "shots": "Int64",
    "metric": "string",
    "value": "Float64",
    "stderr": "Float64",
    "n": "Int64",
    "seed": "Int64",
    "floor": "Float64",
    "chance": "Float64",
}
REQUIRED_OF_OTHERS = ("model", "task", "protocol", "metric", "value")
EXTERNAL_STUDY = "external"
LEAST = {"stderr": 0, "n": 1, "shots": 0}


def collect(records: list[Path]) -> pd.DataFrame:
    """The scores of a study from its records; all that is wrong with any of them at once.

    Of a cell that is broken there is none, and the tables say that it is missing.
    """
    rows, problems = [], []
    for path in records:
        if is_broken(path):
            print(f"{path} is of a broken cell, and left out.")
            continue
        try:
            rows += rows_of(read_record(path))
        except UserError as error:
            problems += error.problems
    if problems:
        raise UserError(problems)
    return _in_order(pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS))


def merge(studies: list[pd.DataFrame], external: list[Path]) -> pd.DataFrame:
    """All studies together with other people's scores, which must not pass for ours."""
    ours = {study for frame in studies for study in frame["study"].unique()}
    frames, problems = list(studies), []
    for path in external:
        try:
            frames.append(read_external(path))
        except UserError as error:
            problems += error.problems
            continue
        problems += [
            f"{path}: the study {study!r} is one of ours; leave the column empty, or name it otherwise."
            for study in ours & set(frames[-1]["study"])
        ]
    if problems:
        raise UserError(problems)
    return _in_order(pd.concat(frames, ignore_index=True))


def _in_order(scores: pd.DataFrame) -> pd.DataFrame:
    keys = ["study", "protocol", "task", "model", "variant", "metric", "subset", "seed"]
    return scores.sort_values(keys, ignore_index=True, kind="stable")


def rows_of(record: Record) -> list[dict]:
    checkpoint = CheckpointId.parse(record.model.id)
    return [
        {
            "study": record.study,
            "model": checkpoint.model,
            "variant": checkpoint.variant,
            "task": record.task.name,
            "subset": metric.subset,
            "protocol": record.protocol.name,
            "shots": record.task.shots,
            "metric": metric.name,
            "value": metric.value,
            "stderr": metric.stderr,
            "n": metric.n,
            "seed": record.protocol.seed,
            "floor": floor_of(metric),
            "chance": metric.chance,
        }
        for metric in record.metrics
    ]


def floor_of(metric: Metric) -> float | None:
    """What a model must beat to have shown anything: the better of a fixed and a random answer."""
    return max((f for f in (metric.best_constant, metric.chance) if f is not None), default=None)


def read_external(path: Path) -> pd.DataFrame:
    """Other people's scores: the same columns, of which only some are required."""
    try:
        frame = pd.read_csv(path, dtype="string", keep_default_na=False, na_values=[""])
    except (OSError, UnicodeDecodeError, pd.errors.EmptyDataError, pd.errors.ParserError) as error:
        raise UserError(f"{path} cannot be read as a CSV file ({error}).") from None
    problems = [
        f"{path}: the column {column!r} is unknown; known: {', '.join(COLUMNS)}."
        + did_you_mean(column, COLUMNS)
        for column in frame.columns
        if column not in COLUMNS
    ]
    problems += [
        f"{path}: the column {column!r} is missing; it must have {', '.join(REQUIRED_OF_OTHERS)}."
        for column in REQUIRED_OF_OTHERS
        if column not in frame.columns
    ]
    if problems:
        raise UserError(problems)
    for column in REQUIRED_OF_OTHERS:
        for line in frame.index[frame[column].isna()]:
            problems.append(f"{path}, line {line + 2}: the column {column!r} is empty.")
    for column, dtype in COLUMNS.items():
        if column not in frame.columns:
            continue
        if dtype != "string":
            numbers = pd.to_numeric(frame[column], errors="coerce")
            bad = frame[column].notna() & (numbers.isna() | numbers.abs().eq(float("inf")))
            if dtype == "Int64":
                bad |= numbers.notna() & (numbers % 1 != 0)
            least = LEAST.get(column)
            if least is not None:
                bad |= numbers.notna() & (numbers < least)
            for line in frame.index[bad]:
                problems.append(
                    f"{path}, line {line + 2}: {column} is {frame.at[line, column]!r};"
                    f" expected a {'whole ' if dtype == 'Int64' else ''}number"
                    f"{'' if least is None else f' of at least {least}'}."
                )
            frame[column] = numbers.mask(bad)
    if problems:
        raise UserError(problems)
    frame = frame.reindex(columns=list(COLUMNS)).astype(COLUMNS)
    return frame.fillna({"study": EXTERNAL_STUDY, "variant": ""})


def write_parquet(scores: pd.DataFrame, path: Path) -> None:
    with atomic_path(path) as temporary:
        scores.to_parquet(temporary, index=False)


def write_csv(scores: pd.DataFrame, path: Path) -> None:
    with atomic_path(path) as temporary:
        scores.to_csv(temporary, index=False, lineterminator="\n")
