"""Other people's scores, from CSV to the columns of ours: strict, and marked by their file's name."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from workflow_scripts.core.errors import UserError, did_you_mean
from workflow_scripts.scores.columns import COLUMNS
from workflow_scripts.scores.published_leaderboard import (
    LEADING_COLUMNS,
    PROTOCOL,
    TEST_ITEMS,
    is_leaderboard,
)

REQUIRED = ("model", "task", "protocol", "metric", "value")
KNOWN = (*(column for column in COLUMNS if column != "study"), "unit")
PROTOCOLS = ("direct", "few_shot", "train_before_test")
UNITS = {"fraction": 1, "percent": 100}
LEAST = {"stderr": 0, "n": 1, "shots": 0}
# What a score can be at all, by the metric's name without its filter; others are taken as they are.
RANGES = {
    **dict.fromkeys(("acc", "acc_norm", "exact_match", "em", "qem", "f1"), (0.0, 1.0)),
    "mcc": (-1.0, 1.0),
}
_CELL = ["model", "variant", "task", "subset", "protocol", "shots", "metric", "seed"]


def bare(metric: str) -> str:
    """The name of a metric without lm-eval's filter."""
    return metric.split(",")[0]


def read_imported(path: Path, metrics: Mapping[str, str]) -> pd.DataFrame:
    """The scores of one file; `metrics` has the metric that tables report for every known task."""
    try:
        frame = pd.read_csv(path, dtype="string", keep_default_na=False, na_values=[""])
    except (OSError, UnicodeDecodeError, pd.errors.EmptyDataError, pd.errors.ParserError) as error:
        raise UserError(f"{path} cannot be read as a CSV file ({error}).") from None
    if is_leaderboard(list(frame.columns)):
        frame = _from_leaderboard(path, frame, metrics)
    problems = _column_problems(path, frame)
    if not problems:
        problems = _text_problems(path, frame, metrics) + _numbers(path, frame)
    if problems:
        raise UserError(problems)
    frame["metric"] = [
        metrics[task] if metric == bare(metrics[task]) else metric
        for task, metric in zip(frame["task"], frame["metric"], strict=True)
    ]
    problems = _value_problems(path, frame)
    if problems:
        raise UserError(problems)
    frame = frame.reindex(columns=list(COLUMNS)).astype(COLUMNS)
    return frame.fillna({"variant": ""}).assign(study=pd.array([path.stem] * len(frame), "string"))


def _from_leaderboard(path: Path, wide: pd.DataFrame, metrics: Mapping[str, str]) -> pd.DataFrame:
    tasks = [column for column in wide.columns if column not in LEADING_COLUMNS]
    if unknown := [task for task in tasks if task not in metrics]:
        raise UserError(
            f"{path}: the column {unknown[0]!r} is no task of the tasks table."
            + did_you_mean(unknown[0], metrics)
        )
    # Model by model, so that the line of a problem can be told from the row.
    long = wide.melt(id_vars="model", value_vars=tasks, var_name="task", ignore_index=False)
    long = long.sort_index(kind="stable").astype("string")
    items = pd.Series({task: str(n) for task, n in TEST_ITEMS.items()}, dtype="string")
    return long.assign(
        protocol=PROTOCOL,
        metric=long["task"].map(dict(metrics)).astype("string"),
        unit="percent",
        n=long["task"].map(items).astype("string"),
        line=long.index + 2,
    ).reset_index(drop=True)


def _line(frame: pd.DataFrame, row: int) -> int:
    return int(frame.at[row, "line"]) if "line" in frame else row + 2


def _column_problems(path: Path, frame: pd.DataFrame) -> list[str]:
    problems = [
        f"{path}: the column {column!r} is unknown; known: {', '.join(KNOWN)}."
        + did_you_mean(column, KNOWN)
        for column in frame.columns
        if column not in (*KNOWN, "line")
    ]
    return problems + [
        f"{path}: the column {column!r} is missing; it must have {', '.join(REQUIRED)}."
        for column in REQUIRED
        if column not in frame.columns
    ]


def _text_problems(path: Path, frame: pd.DataFrame, metrics: Mapping[str, str]) -> list[str]:
    problems = [
        f"{path}, line {_line(frame, row)}: the column {column!r} is empty."
        for column in REQUIRED
        for row in frame.index[frame[column].isna()]
    ]
    for column, known, what in (
        ("task", metrics, "a task of the tasks table"),
        ("protocol", PROTOCOLS, "direct, few_shot or train_before_test"),
        ("unit", UNITS, "fraction or percent"),
    ):
        if column in frame:
            problems += [
                f"{path}, line {_line(frame, row)}: {column} is {frame.at[row, column]!r};"
                f" expected {what}.{did_you_mean(frame.at[row, column], known)}"
                for row in frame.index[frame[column].notna() & ~frame[column].isin(list(known))]
            ]
        if column == "task":
            reported = frame["task"].map(dict(metrics))
            odd = frame["metric"].notna() & reported.notna()
            odd &= (frame["metric"] != reported) & (frame["metric"] != reported.map(bare, "ignore"))
            problems += [
                f"{path}, line {_line(frame, row)}: metric is {frame.at[row, 'metric']!r}; expected"
                f" {bare(reported[row])!r}, which tables report for {frame.at[row, 'task']}."
                for row in frame.index[odd]
            ]
    return problems


def _numbers(path: Path, frame: pd.DataFrame) -> list[str]:
    """Turn the number columns into numbers, in place; what is none is a problem."""
    problems = []
    for column, dtype in COLUMNS.items():
        if column not in frame.columns or dtype == "string":
            continue
        numbers = pd.to_numeric(frame[column], errors="coerce")
        bad = frame[column].notna() & (numbers.isna() | numbers.abs().eq(float("inf")))
        if dtype == "Int64":
            bad |= numbers.notna() & (numbers % 1 != 0)
        least = LEAST.get(column)
        if least is not None:
            bad |= numbers.notna() & (numbers < least)
        for row in frame.index[bad]:
            problems.append(
                f"{path}, line {_line(frame, row)}: {column} is {frame.at[row, column]!r};"
                f" expected a {'whole ' if dtype == 'Int64' else ''}number"
                f"{'' if least is None else f' of at least {least}'}."
            )
        frame[column] = numbers.mask(bad)
    return problems


def _value_problems(path: Path, frame: pd.DataFrame) -> list[str]:
    """Values in their unit, turned into fractions in place; outside of its range one is a problem."""
    problems = []
    unit = frame["unit"].fillna("fraction") if "unit" in frame else None
    per = 1.0 if unit is None else unit.map(UNITS).astype(float)
    printed = frame["value"].copy()
    for column in {"value", "stderr", "floor", "chance"} & set(frame.columns):
        frame[column] = frame[column] / per
    for row in frame.index:
        bounds = RANGES.get(bare(frame.at[row, "metric"]))
        value, where = frame.at[row, "value"], f"{path}, line {_line(frame, row)}"
        in_percent = unit is not None and unit[row] == "percent"
        if bounds is None:
            if in_percent:
                problems.append(
                    f"{where}: unit is 'percent'; expected nothing there, as the metric"
                    f" {frame.at[row, 'metric']!r} is no fraction."
                )
        elif not bounds[0] <= value <= bounds[1]:
            low, high = bounds
            scale = 100 if in_percent else 1
            hint = "" if in_percent else ", or percent in the column unit"
            problems.append(
                f"{where}: value is {printed[row]:g}; expected a number from {low * scale:g} to"
                f" {high * scale:g}, the range of {frame.at[row, 'metric']}{hint}."
            )
    cell = [column for column in _CELL if column in frame]
    problems += [
        f"{path}, line {_line(frame, row)}: the score {frame.at[row, 'metric']} of"
        f" {frame.at[row, 'model']} on {frame.at[row, 'task']} stands here a second time; expected"
        " each once."
        for row in frame.index[frame.duplicated(cell)]
    ]
    return problems
