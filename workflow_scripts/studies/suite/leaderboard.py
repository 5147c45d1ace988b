"""Make the leaderboard: a row for each model, precision and commit, with the suite's tasks and their average."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import format_with_errors
from workflow_scripts.scores.influences import get_row_errors
from workflow_scripts.studies.suite.requests import accepted, parameters_of, read_checks

NOTE = (
    "Scores in percent ± standard error; n is in the CSV. Average: the mean of all tasks of the suite, for rows that"
    " have all of them alone. Behind the first: by how much that mean is lower, with the error of the"
    " difference on the same items. A cell that is missing is named and never filled. Floors, the better of random"
    " answers and of one fixed answer, are in the CSV and on the page. The scores of the Open LLM Leaderboard are of"
    " another protocol (table suite_protocol). A flag was set by hand, its"
    " reason is in the last column; the row stays."
)
_COLUMNS = [
    *("model", "precision", "commit", "licence", "parameters", "model_type", "weight_type"),
    *("protocol", "note", "file", "row", "average", "average_stderr", "missing"),
    *("behind", "behind_stderr", "flag", "flag_link"),
]
_OF_REQUEST = ("precision", "model_type", "weight_type", "protocol", "note")
_PARTS = ("stderr", "n", "floor", "chance")
# What identifies the errors of a row's scores.
_KEY = ["protocol", "study", "model", "variant", "dtype", "commit"]
Task = dict[str, Any]


def make_leaderboard(
    scores: pd.DataFrame,
    entries: list[dict[str, Any]],
    errors: pd.DataFrame,
    tasks: Sequence[Task],
    flags: Sequence[dict[str, Any]] = (),
) -> pd.DataFrame:
    """Make one row per accepted request, best first, those without an average at the end.

    `errors` are those of the suite's items, as scores.influences has them.
    """
    metrics = {task["task"]: task["metric"] for task in tasks}
    is_shown = scores["subset"].isna() & (scores["metric"] == scores["task"].map(metrics))
    scores = scores[is_shown.fillna(False).astype(bool)]
    rows = [_make_row(entry, scores, tasks, flags) for entry in accepted(entries)]
    names = list(_COLUMNS)
    for task in metrics:
        names += [task, *(f"{task}_{part}" for part in _PARTS)]
    table = pd.DataFrame(rows, columns=[*names, "key"]).sort_values(
        ["average", "model", "precision"],
        ascending=[False, True, True],
        kind="stable",
        ignore_index=True,
    )
    ranked = table["average"].notna()
    if ranked.any():
        table["behind"] = table["average"].iloc[0] - table["average"]
        keys = table.loc[ranked, "key"].tolist()
        table.loc[ranked, "behind_stderr"] = _compute_gap_stderr(keys, errors, tasks)
    return table[names]


def _compute_gap_stderr(
    keys: list[tuple], errors: pd.DataFrame, tasks: Sequence[Task]
) -> np.ndarray:
    """Compute the standard error of each row's gap to the first row, over the same items.

    It is unknown where a task is no mean over its items.
    """
    places = np.arange(len(keys))
    variances = np.zeros(len(keys))
    for task in tasks:
        is_task = (errors["task"] == task["task"]) & (errors["metric"] == task["metric"])
        if not is_task.any():
            return np.full(len(keys), np.nan)
        index, items = get_row_errors(errors[is_task], _KEY)
        positions = index.get_indexer(pd.MultiIndex.from_tuples(keys))
        differences = items.part(positions).of_difference(places, np.zeros_like(places))
        is_unknown = (positions < 0) | (positions[0] < 0)
        variances += np.where(is_unknown, np.nan, differences)
    stderrs = np.sqrt(variances) / len(tasks)
    stderrs[0] = np.nan
    return stderrs


def _make_row(
    entry: dict[str, Any],
    scores: pd.DataFrame,
    tasks: Sequence[Task],
    flags: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    request = entry["request"]
    flag = next((flag for flag in flags if marks(flag, entry)), {})
    row = {
        "model": request["name"],
        "parameters": parameters_of(entry),
        "flag": flag.get("reason"),
        "flag_link": flag.get("link"),
        **{key: entry[key] for key in ("commit", "licence", "file", "row")},
        **{key: request[key] for key in _OF_REQUEST},
    }
    row_scores = _select_scores(entry, scores).set_index("task")
    names = [task["task"] for task in tasks]
    measured = row_scores.reindex(names).dropna(subset="value")
    for name, score in measured.iterrows():
        row["key"] = tuple(score[_KEY])
        row[name] = score["value"]
        row |= {f"{name}_{part}": score[part] for part in _PARTS}
    row["missing"] = " ".join(name for name in names if name not in measured.index) or None
    if not row["missing"]:
        values, stderrs = (measured[name].to_numpy(float) for name in ("value", "stderr"))
        row["average"] = float(np.mean(values))
        row["average_stderr"] = float(np.linalg.norm(stderrs) / len(tasks))
    return row


def _select_scores(entry: dict[str, Any], scores: pd.DataFrame) -> pd.DataFrame:
    request = entry["request"]
    checkpoint = CheckpointId.parse(request["name"])
    values = {
        "model": checkpoint.model,
        "variant": checkpoint.variant,
        "dtype": request["precision"],
        "protocol": request["protocol"],
    }
    if not checkpoint.variant:  # a checkpoint that this workflow makes has a commit of its own
        values["commit"] = entry["commit"]
    return scores[(scores[list(values)] == values).all(axis=1)]


def marks(flag: dict[str, Any], entry: dict[str, Any]) -> bool:
    """Tell whether a flag is of the row that this accepted request has."""
    request = entry["request"]
    return (
        flag["model"] == request["name"]
        and flag["precision"] in (None, request["precision"])
        and entry["commit"].startswith(flag["revision"] or "")
    )


def format_columns(frame: pd.DataFrame, tasks: Sequence[Task]) -> ShownColumns:
    return {
        "Model": frame["model"],
        "Precision": frame["precision"],
        "Commit": frame["commit"].str[:7],
        "Type": frame["model_type"],
        "Protocol": frame["protocol"].str.replace("_", "-"),
        "Average": _format_scores(frame["average"], frame["average_stderr"]),
        "Behind the first": _format_scores(frame["behind"], frame["behind_stderr"]),
        **{
            f"{task['title']} ({task['shown_as']}, {task['shots']}-shot)": _format_scores(
                frame[task["task"]], frame[f"{task['task']}_stderr"]
            )
            for task in tasks
        },
        "Missing": frame["missing"],
        "Flag": frame["flag"],
    }


def _format_scores(
    values: Iterable[float | None], errors: Iterable[float | None]
) -> list[str | None]:
    return format_with_errors(values, errors, lambda share: f"{100 * share:.1f}")


def main(
    scores: Path,
    errors: Path,
    checks: Path,
    table: list[Path],
    tasks: list[Task],
    flags: list[dict[str, Any]],
) -> None:
    board = make_leaderboard(
        pd.read_parquet(scores), read_checks(checks), pd.read_parquet(errors), tasks, flags
    )
    write_table(board, table, title="Leaderboard", note=NOTE, shown=format_columns(board, tasks))


if "snakemake" in globals():
    run_job(main, snakemake)
