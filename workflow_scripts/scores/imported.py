"""Other people's scores, from CSV to the columns of ours: strict, and marked by their file's name."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

import numpy as np
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
_CELL = ["model", "variant", "task", "subset", "protocol", "shots", "metric", "seed"]


def read_imported(
    path: Path,
    metrics: Mapping[str, str],
    protocols: Sequence[str] = PROTOCOLS,
    *,
    others: bool = False,
) -> pd.DataFrame:
    """The scores of one file; `metrics` has the metric that tables report for every known task.

    `others` says that a task may have further metrics beside that one, which are left out, as they are of a
    run's own scores.
    """
    expected = f"a header with {', '.join(REQUIRED)}, and a line for each score"
    frame = read_theirs(path, expected, dtype="string", keep_default_na=False, na_values=[""])
    if is_leaderboard(list(frame.columns)):
        frame = _from_leaderboard(path, frame, metrics)
    problems = _column_problems(path, frame.drop(columns="study", errors="ignore"))
    if "study" in frame and not problems:
        frame, others = _of_a_run(path, frame), True
    if others and not problems:
        frame = _reported_alone(frame, metrics)
    problems = problems or [
        *_text_problems(path, frame, metrics, protocols),
        *_numbers(path, frame),
    ]
    if not problems:
        reported = frame["task"].map(dict(metrics)).astype("string")
        short = (frame["metric"] == reported.map(bare, "ignore")).fillna(False)
        frame["metric"] = reported.where(short, frame["metric"])
        problems = _value_problems(path, frame)
    if problems:
        # A line of a leaderboard became one for each task, each with the same problem.
        raise UserError(list(dict.fromkeys(problems)))
    frame = frame.reindex(columns=list(COLUMNS)).astype(COLUMNS)
    frame = with_sound_errors(frame.fillna({"variant": ""}))
    return frame.assign(study=pd.array([path.stem] * len(frame), "string"))


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
    ).reset_index(drop=True)


def _at(path: Path, frame: pd.DataFrame, row: int) -> str:
    line = int(frame.at[row, "line"]) if "line" in frame else row + 2
    return f"{path}, line {line}"


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


def _text_problems(
    path: Path, frame: pd.DataFrame, metrics: Mapping[str, str], protocols: Sequence[str]
) -> list[str]:
    problems = [
        f"{_at(path, frame, row)}: the column {column!r} is empty."
        for column in REQUIRED
        for row in frame.index[frame[column].isna()]
    ]
    # Texts are no tasks: those of one's own have names of one's own, and others have theirs.
    of_texts = (frame["metric"].map(bare, "ignore") == BITS).fillna(False)
    for column, known, what in (
        ("task", metrics, f"a task of the tasks table, or a text with the metric {BITS}"),
        ("protocol", protocols, listed(protocols, "or")),
        ("unit", UNITS, "fraction or percent"),
    ):
        if column in frame:
            problems += [
                f"{_at(path, frame, row)}: {column} is {frame.at[row, column]!r}; expected"
                f" {what}.{did_you_mean(frame.at[row, column], known)}"
                for row in frame.index[
                    frame[column].notna()
                    & ~frame[column].isin(list(known))
                    & ~(of_texts & (column == "task"))
                ]
            ]
    reported = frame["task"].map(dict(metrics))
    odd = frame["metric"].notna() & reported.notna()
    odd &= (frame["metric"] != reported) & (frame["metric"] != reported.map(bare, "ignore"))
    return problems + [
        f"{_at(path, frame, row)}: metric is {frame.at[row, 'metric']!r}; expected"
        f" {bare(reported[row])!r}, which tables report for {frame.at[row, 'task']}."
        for row in frame.index[odd]
    ]


def _numbers(path: Path, frame: pd.DataFrame) -> list[str]:
    """Turn the number columns into numbers, in place; what is none is a problem."""
    problems = []
    for column, dtype in COLUMNS.items():
        if column not in frame.columns or dtype == "string":
            continue
        numbers = pd.to_numeric(frame[column], errors="coerce")
        whole, least = dtype == "Int64", LEAST.get(column, -math.inf)
        bad = numbers.isna() | numbers.abs().eq(math.inf) | (numbers < least)
        if whole:
            bad |= numbers % 1 != 0
        bad = frame[column].notna() & bad.fillna(True)
        expected = f"a {'whole ' * whole}number" + f" of at least {least}" * (column in LEAST)
        problems += [
            f"{_at(path, frame, row)}: {column} is {frame.at[row, column]!r}; expected {expected}."
            for row in frame.index[bad]
        ]
        frame[column] = numbers.mask(bad)
    return problems


def _value_problems(path: Path, frame: pd.DataFrame) -> list[str]:
    """Values in their unit, turned into fractions in place; outside of its range one is a problem."""
    problems = []
    units = frame["unit"] if "unit" in frame else pd.Series("fraction", frame.index)
    per = units.fillna("fraction").map(UNITS).astype(float)
    printed = frame["value"].copy()
    for column in {"value", "stderr", "floor", "chance"} & set(frame.columns):
        frame[column] = frame[column] / per
    ranges = frame["metric"].map(lambda metric: RANGES.get(bare(metric), (np.nan, np.nan)))
    lowest, highest = (ranges.map(lambda ends, at=at: ends[at]).astype(float) for at in (0, 1))
    within = frame["value"].astype(float).between(lowest, highest)
    for row in frame.index[~np.where(lowest.isna(), per == 1, within)]:
        metric, scale = frame.at[row, "metric"], int(per[row])
        bounds = RANGES.get(bare(metric))
        if bounds is None:
            problems.append(
                f"{_at(path, frame, row)}: unit is 'percent'; expected nothing there, as the"
                f" metric {metric!r} is no fraction."
            )
        else:
            low, high = bounds
            hint = "" if scale != 1 else ", or percent in the column unit"
            problems.append(
                f"{_at(path, frame, row)}: value is {printed[row]:g}; expected a number from"
                f" {low * scale:g} to {high * scale:g}, the range of {metric}{hint}."
            )
    cell = [column for column in _CELL if column in frame]
    return problems + [
        f"{_at(path, frame, row)}: the score {frame.at[row, 'metric']} of"
        f" {frame.at[row, 'model']} on {frame.at[row, 'task']} stands here a second time; expected"
        " each once."
        for row in frame.index[frame.duplicated(cell)]
    ]
