"""Make the leaderboard: a row per model, precision and commit, with the suite's tasks and their average."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.scores.influences import SCORE_KEY, get_row_errors
from workflow_scripts.studies.suite.requests import read_checks

NOTE = (
    "Scores in percent ± standard error; n is in the CSV. Average: mean over all tasks of the suite, of rows that have"
    " every task. Behind the first: the gap to the best average, with its standard error on the same items."
    " Baselines (the better of random answers and one constant answer) are in the CSV and on"
    " the page. Scores of the Open LLM Leaderboard follow another protocol (table protocol_differences). Flag: set by"
    " hand, with its reason."
)
_ENTRY_COLUMNS = ["model", "precision", "commit", "licence", "parameters", "model_type"]
_ENTRY_COLUMNS += ["weight_type", "note", "file", "row"]
_AVERAGES = ["average", "average_stderr", "behind", "behind_stderr"]
_FLAGS = ["flag", "flag_link"]
_PARTS = {"value": "", "stderr": "_stderr", "n": "_n", "baseline": "_baseline", "chance": "_chance"}
Task = dict[str, Any]


def make_leaderboard(
    scores: pd.DataFrame,
    entries: list[dict[str, Any]],
    errors: pd.DataFrame,
    tasks: Sequence[Task],
    flags: Sequence[dict[str, Any]],
) -> pd.DataFrame:
    """Make one row per accepted request, sorted by average, rows without an average last.

    `errors` are the errors of scores from the suite's items (scores.influences).
    """
    flagged = {flag["model"]: {"flag": flag["reason"], "flag_link": flag["link"]} for flag in flags}
    rows = [entry | {"model": entry["name"]} | flagged.get(entry["name"], {}) for entry in entries]
    table = pd.DataFrame(rows, columns=[*_ENTRY_COLUMNS, *_AVERAGES, *_FLAGS]).set_index("file")
    measured = _select_scores(table, scores, tasks)
    names = [task["task"] for task in tasks]
    for part, suffix in _PARTS.items():
        wide = measured.pivot(index="file", columns="task", values=part)
        wide = wide.reindex(index=table.index, columns=names)
        wide = wide.astype("Int64" if part == "n" else "float64")
        table[[name + suffix for name in names]] = wide
    table["average"] = table[names].mean(axis=1, skipna=False)
    stderrs = table[[f"{name}_stderr" for name in names]].to_numpy()
    table["average_stderr"] = np.linalg.norm(stderrs, axis=1) / len(names)
    order = ["average", "model", "precision"]
    table = table.sort_values(order, ascending=[False, True, True], kind="stable")
    table["behind"] = table["average"].max() - table["average"]
    keys = measured.drop_duplicates("file").set_index("file")[SCORE_KEY]
    ranked = table.index[table["average"].notna()]
    table.loc[ranked, "behind_stderr"] = _compute_gap_stderr(keys.loc[ranked], errors, tasks)
    parts = [name + suffix for name in names for suffix in _PARTS.values()]
    return table.reset_index()[[*_ENTRY_COLUMNS, *_AVERAGES, *_FLAGS, *parts]]


def _select_scores(
    table: pd.DataFrame, scores: pd.DataFrame, tasks: Sequence[Task]
) -> pd.DataFrame:
    """Select the scores of each entry, one row per file and task."""
    columns = {"model": "checkpoint", "precision": "dtype", "commit": "revision"}
    keys = table[list(columns)].rename(columns=columns).reset_index()
    metrics = pd.DataFrame(tasks)[["task", "metric"]]
    scores = scores[scores["subset"].isna()].merge(metrics)
    scores = scores.assign(checkpoint=scores["model"] + scores["variant"])
    measured = keys.merge(scores, on=["checkpoint", "dtype"])
    # A checkpoint made by this workflow has a different commit, so do not match on it.
    return measured[(measured["variant"] != "") | (measured["commit"] == measured["revision"])]


def _compute_gap_stderr(
    keys: pd.DataFrame, errors: pd.DataFrame, tasks: Sequence[Task]
) -> np.ndarray:
    """Compute the standard error of each row's gap to the first row, on the same items.

    It is NaN if a task's score is not a mean over its items. `keys` has the SCORE_KEY of each row.
    """
    index = pd.MultiIndex.from_frame(keys)
    positions = np.arange(len(keys))
    variances = np.zeros(len(keys))
    for task in tasks:
        is_task = (errors["task"] == task["task"]) & (errors["metric"] == task["metric"])
        if not is_task.any():
            return np.full(len(keys), np.nan)
        rows, item_errors = get_row_errors(errors[is_task], SCORE_KEY)
        row_errors = item_errors.select(rows.get_indexer(index))
        variances += row_errors.compute_difference_variance(positions, 0 * positions)
    stderrs = np.sqrt(variances) / len(tasks)
    stderrs[:1] = np.nan  # the first row has no gap
    return stderrs


def _format_columns(table: pd.DataFrame, tasks: Sequence[Task]) -> ShownColumns:
    """Return the displayed columns, with a column for each task."""
    scores = {"Average": "average", "Behind the first": "behind"}
    for task in tasks:
        scores[f"{task['title']} ({task['shown_as']}, {task['shots']}-shot)"] = task["task"]
    return {
        "Model": table["model"],
        "Precision": table["precision"],
        "Commit": table["commit"].str[:7],
        "Type": table["model_type"],
        **{title: f"{{{name}:.1%}} ± {{{name}_stderr:.1%}}" for title, name in scores.items()},
        "Flag": table["flag"],
    }


def main(
    scores: Path,
    errors: Path,
    checks: Path,
    table: list[Path],
    tasks: list[Task],
    flags: list[dict[str, Any]],
) -> None:
    """Write the table."""
    entries = [entry for entry in read_checks(checks) if not entry["reason"]]
    board = make_leaderboard(
        pd.read_parquet(scores), entries, pd.read_parquet(errors), tasks, flags
    )
    write_table(board, table, title="Leaderboard", note=NOTE, shown=_format_columns(board, tasks))


if "snakemake" in globals():
    run_job(main, snakemake)
