"""Other people's scores, from CSV to the columns of ours: strict, and marked by their file's name."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from workflow_scripts.core.errors import UserError, did_you_mean
from workflow_scripts.scores.columns import COLUMNS
from workflow_scripts.scores.errors import RANGES, bare, with_sound_errors
from workflow_scripts.scores.files import read_theirs
from workflow_scripts.scores.published_leaderboard import (
    LEADING_COLUMNS,
    PROTOCOL,
    TEST_ITEMS,
    is_leaderboard,
)
from workflow_scripts.settings.harmony import Protocol
from workflow_scripts.settings.sentences import listed

REQUIRED = ("model", "task", "protocol", "metric", "value")
KNOWN = (*(column for column in COLUMNS if column != "study"), "unit")
PROTOCOLS = get_args(Protocol)
# Studies of a run whose scores its ranking has no use for.
UNRANKED = ("chunking", "mmlu", "prompts", "suite", "training")
RANKED = "harmony"  # the one that is ranked
UNITS = {"fraction": 1, "percent": 100}
BITS = "bits_per_byte"  # of a text
LEAST = {"stderr": 0, "n": 1, "shots": 0}
_NUMBERS = {name for name, dtype in COLUMNS.items() if dtype != "string"}
_CELL = ["model", "variant", "task", "subset", "protocol", "shots", "metric", "seed"]


def read_imported(
    path: Path,
    metrics: Mapping[str, str],
    protocols: Sequence[str] = PROTOCOLS,
    *,
    others: bool = False,
) -> pd.DataFrame:
    """Read the scores of one file; `metrics` has the metric that tables report for every known task.

    `others` says that a task may have further metrics beside that one, which are left out, as they are of a
    run's own scores.
    """
    expected = f"a header with {', '.join(REQUIRED)}, and a line for each score"
    frame = read_theirs(path, expected, dtype="string", keep_default_na=False, na_values=[""])
    if is_leaderboard(list(frame.columns)):
        frame = _from_leaderboard(path, frame, metrics)
    else:
        frame["line"] = frame.index + 2
    _check_columns(path, frame)
    if "study" in frame:
        frame, others = _of_a_run(path, frame), True
    if others:
        frame = _reported_alone(frame, metrics)
    rows, problems = [], []
    lines: dict[tuple, int] = {}
    for record in frame.to_dict("records"):
        row = {str(name): value for name, value in record.items() if not pd.isna(value)}
        row, sentences = _check_row(row, metrics, protocols)
        cell = tuple(row.get(name) for name in _CELL)
        if not sentences and lines.setdefault(cell, row["line"]) != row["line"]:
            sentences = [
                f"the score {row['metric']} of {row['model']} on {row['task']} stands here a second"
                f" time, as in line {lines[cell]}; expected each once."
            ]
        problems += [f"{path}, line {row['line']}: {sentence}" for sentence in sentences]
        rows.append(row)
    if problems:
        # A line of a leaderboard became one for each task, each with the same problem.
        raise UserError(list(dict.fromkeys(problems)))
    frame = pd.DataFrame(rows).reindex(columns=list(COLUMNS)).astype(COLUMNS)
    frame = with_sound_errors(frame.fillna({"variant": ""}))
    return frame.assign(study=pd.array([path.stem] * len(frame), "string"))


def _check_columns(path: Path, frame: pd.DataFrame) -> None:
    known = (*KNOWN, "line", "study")
    problems = [
        f"{path}: the column {column!r} is unknown; known: {', '.join(KNOWN)}."
        + did_you_mean(column, KNOWN)
        for column in frame.columns
        if column not in known
    ]
    problems += [
        f"{path}: the column {column!r} is missing; it must have {', '.join(REQUIRED)}."
        for column in REQUIRED
        if column not in frame
    ]
    if problems:
        raise UserError(problems)


def _check_row(
    row: dict[str, Any], metrics: Mapping[str, str], protocols: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """Return a row with its numbers as fractions and its metric in full, and what is wrong with it."""
    if empty := [f"the column {name!r} is empty." for name in REQUIRED if name not in row]:
        return row, empty
    task, metric, unit = row["task"], row["metric"], row.pop("unit", "fraction")
    problems = []
    # Texts are no tasks: those of one's own have names of one's own, and others have theirs.
    tasks = [*metrics, task] if bare(metric) == BITS else list(metrics)
    for name, value, allowed, expected in (
        ("task", task, tasks, f"a task of the tasks table, or a text with the metric {BITS}"),
        ("protocol", row["protocol"], protocols, listed(protocols, "or")),
        ("unit", unit, UNITS, "fraction or percent"),
    ):
        if value not in allowed:
            hint = did_you_mean(value, allowed)
            problems.append(f"{name} is {value!r}; expected {expected}.{hint}")
    reported = metrics.get(task, metric)
    if metric not in (reported, bare(reported)):
        problems.append(
            f"metric is {metric!r}; expected {bare(reported)!r}, which tables report for {task}."
        )
    numbers = {}
    for name in row.keys() & _NUMBERS:
        number = _parse(name, row[name])
        if number is None:
            whole, least = COLUMNS[name] == "Int64", LEAST.get(name)
            bound = f" of at least {least}" if least is not None else ""
            problems.append(f"{name} is {row[name]!r}; expected a {'whole ' * whole}number{bound}.")
        else:
            numbers[name] = number
    if problems:
        return row, problems
    scale, bounds = UNITS[unit], RANGES.get(bare(metric))
    if bounds is None and scale != 1:
        return row, [
            f"unit is 'percent'; expected nothing there, as the metric {metric!r} is no fraction."
        ]
    if bounds is not None and not bounds[0] <= numbers["value"] / scale <= bounds[1]:
        hint = "" if scale != 1 else ", or percent in the column unit"
        return row, [
            f"value is {numbers['value']:g}; expected a number from {bounds[0] * scale:g} to"
            f" {bounds[1] * scale:g}, the range of {metric}{hint}."
        ]
    for name in numbers.keys() & {"value", "stderr", "floor", "chance"}:
        numbers[name] /= scale
    return row | numbers | {"metric": reported}, []


def _parse(name: str, text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    is_bad = not math.isfinite(number) or number < LEAST.get(name, -math.inf)
    return None if is_bad or (COLUMNS[name] == "Int64" and number % 1) else number


def _of_a_run(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Of results/scores.csv what was ranked there; rows keep their numbers.

    A cell that the run measured and imported too is the one that it measured; from two imports none is taken.
    """
    ranked = frame[~frame["study"].isin(UNRANKED)]
    if ranked.empty:
        raise UserError(
            f"{path} has scores of {listed(sorted(frame['study'].dropna().unique()))}; expected some of the"
            " study harmony, or of imported ones."
        )
    cell = [name for name in _CELL[:5] if name in ranked]
    own = (ranked["study"] == RANKED).fillna(False).astype(bool)
    measured = own.groupby([ranked[name] for name in cell], dropna=False).transform("any")
    ranked = ranked[own | ~measured].fillna({"study": "no study"})
    # With several numbers of examples they are several scores, also of one import.
    asked = ranked.groupby([*cell, *(["shots"] if "shots" in ranked else [])], dropna=False)
    several = ranked[asked["study"].transform("nunique") > 1]
    if not several.empty:
        first = several.iloc[0]
        alike = several[(several[cell].fillna("") == first[cell].fillna("")).all(axis=1)]
        raise UserError(
            f"{path} has scores of {first['model']} on {first['task']} that its run imported from"
            f" {listed(sorted(alike['study'].unique()))}; expected them from one of these alone."
        )
    return ranked.drop(columns="study")


def _reported_alone(frame: pd.DataFrame, metrics: Mapping[str, str]) -> pd.DataFrame:
    """Without the other metrics of tasks that have the reported one; rows keep their numbers."""
    reported = frame["task"].map(dict(metrics))
    found = (frame["metric"] == reported) | (frame["metric"] == reported.map(bare, "ignore"))
    found = found.fillna(False).astype(bool)
    return frame[found | ~found.groupby(frame["task"]).transform("any").fillna(False).astype(bool)]


def _from_leaderboard(path: Path, wide: pd.DataFrame, metrics: Mapping[str, str]) -> pd.DataFrame:
    tasks = [column for column in wide.columns if column not in LEADING_COLUMNS]
    if unknown := [task for task in tasks if task not in metrics]:
        raise UserError(
            f"{path}: the column {unknown[0]!r} is no task of the tasks table."
            + did_you_mean(unknown[0], metrics)
        )
    if (twice := wide["model"].duplicated() & wide["model"].notna()).any():
        at = int(twice.to_numpy().argmax())
        raise UserError(
            f"{path}, line {at + 2}: {wide['model'][at]} stands here a second time; expected each model once."
        )
    # Model by model, so that the line of a problem can be told from the row. Where a cell is blank there is
    # no score, as where a long file has no line.
    long = wide.melt(id_vars="model", value_vars=tasks, var_name="task", ignore_index=False)
    long = long.sort_index(kind="stable").astype("string").dropna(subset="value")
    if long.empty:
        raise UserError(
            f"{path} has no score below its header; expected one for each model and task."
        )
    return long.assign(
        protocol=PROTOCOL,
        metric=long["task"].map(dict(metrics)).astype("string"),
        unit="percent",
        n=long["task"].map({task: str(n) for task, n in TEST_ITEMS.items()}).astype("string"),
        line=long.index + 2,
    )
