"""Make the leaderboard: a row for each model, precision and commit, with the suite's tasks and their average."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import with_errors
from workflow_scripts.scores.foreign.cells import ImportedCell, cells_of, told
from workflow_scripts.scores.influences import errors_by_row
from workflow_scripts.settings.flags import Flag
from workflow_scripts.studies.ranking.frame import OWN
from workflow_scripts.studies.suite.requests import accepted, parameters_of, read_checks
from workflow_scripts.studies.suite.table_requests import ShownTask, SuiteTables

NOTE = (
    "Scores in percent ± standard error; n is in the CSV. Average: the mean of all tasks of the suite, for rows that"
    " have all of them alone. Behind the first: by how much that mean is lower, with the error of the"
    " difference on the same items. A cell that is missing is named and never filled. Floors, the better of random"
    " answers and of one fixed answer, are in the CSV and on the page. The scores of the Open LLM Leaderboard are of"
    " another protocol (table suite_protocol). Origin: own runs, or the folder that results were imported from, whose"
    " harness, and where its tasks are others than ours, stand in the CSV's note. A flag was set by hand, its"
    " reason is in the last column; the row stays."
)
_COLUMNS = [
    *("model", "precision", "commit", "licence", "parameters", "model_type", "weight_type"),
    *("protocol", "note", "file", "row", "average", "average_stderr", "missing", "origin"),
    *("behind", "behind_stderr", "flag", "flag_link"),
]
# What identifies the errors of a row's scores.
_KEY = ["protocol", "study", "model", "variant", "dtype", "commit"]


def make_leaderboard(
    scores: pd.DataFrame, entries: list[dict], request: SuiteTables, errors: pd.DataFrame
) -> pd.DataFrame:
    """Make one row per accepted request, best first, those without an average at the end.

    `errors` are those of the suite's items, as scores.influences has them.
    """
    scores = scores[scores["subset"].isna()]
    rows = [_make_row(entry, scores, request) for entry in accepted(entries)]
    names = list(_COLUMNS)
    for task in request.tasks:
        names += [f"{task.task}{part}" for part in ("", "_stderr", "_n", "_floor", "_chance")]
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
        table.loc[ranked, "behind_stderr"] = _compute_gap_stderr(keys, errors, request.tasks)
    return table[names]


def _compute_gap_stderr(
    keys: list[tuple], errors: pd.DataFrame, tasks: Sequence[ShownTask]
) -> np.ndarray:
    """Compute the standard error of each row's gap to the first row, over the same items.

    It is unknown where a task is no mean over its items, or a row was imported without them.
    """
    places = np.arange(len(keys))
    variances = np.zeros(len(keys))
    for task in tasks:
        task_errors = errors[(errors["task"] == task.task) & (errors["metric"] == task.metric)]
        if task_errors.empty:
            return np.full(len(keys), np.nan)
        index, items = errors_by_row(task_errors, _KEY)
        protocol = "few_shot" if task.shots else "direct"  # of imported scores
        task_keys = [key if key[0] else (protocol, *key[1:]) for key in keys]
        found = index.get_indexer(pd.MultiIndex.from_tuples(task_keys))
        differences = items.part(found).of_difference(places, np.zeros_like(places))
        variances += np.where((found < 0) | (found[0] < 0), np.nan, differences)
    stderrs = np.sqrt(variances) / len(tasks)
    stderrs[0] = np.nan
    return stderrs


def _make_row(entry: dict, scores: pd.DataFrame, request: SuiteTables) -> dict[str, Any]:
    submitted = entry["request"]
    row_scores = _select_scores(entry, scores, request.tasks)
    flag = next((flag for flag in request.flags if marks(flag, entry)), None)
    row = {
        "model": submitted["name"],
        "precision": submitted["precision"],
        **{key: entry[key] for key in ("commit", "licence", "file", "row")},
        "parameters": parameters_of(entry),
        **{key: submitted[key] for key in ("model_type", "weight_type", "protocol", "note")},
        "origin": entry.get("origin", OWN),
        "flag": flag and flag.reason,
        "flag_link": flag and flag.link,
    }
    missing = []
    for task in request.tasks:
        name = task.task
        found = row_scores[(row_scores["task"] == name) & (row_scores["metric"] == task.metric)]
        if len(found) > 1:
            raise UserError(
                f"There are {len(found)} scores of {submitted['name']} in {submitted['precision']} on"
                f" {name}; expected one. Delete results/scores/suite.parquet."
            )
        if found.empty:
            missing.append(name)
            continue
        score = found.iloc[0]
        row["key"] = (
            "" if "origin" in entry else submitted["protocol"],
            *score[_KEY[1:]].fillna(""),
        )
        row[name] = score["value"]
        for part in ("stderr", "n", "floor", "chance"):
            row[f"{name}_{part}"] = score[part]
    row["missing"] = " ".join(missing) or None
    if not missing:
        row["average"] = float(np.mean([row[task.task] for task in request.tasks]))
        errors = [row[f"{task.task}_stderr"] for task in request.tasks]
        if not any(pd.isna(error) for error in errors):
            row["average_stderr"] = float(np.linalg.norm(errors) / len(errors))
    return row


def _select_scores(entry: dict, scores: pd.DataFrame, tasks: Sequence[ShownTask]) -> pd.DataFrame:
    submitted = entry["request"]
    checkpoint = CheckpointId.parse(submitted["name"])
    wanted = {"model": checkpoint.model, "dtype": submitted["precision"]}
    if not checkpoint.variant:  # a checkpoint that this workflow makes has a commit of its own
        wanted["commit"] = entry["commit"]
    if "origin" in entry:
        wanted["study"] = entry["origin"]
        is_row = scores["shots"] == scores["task"].map({task.task: task.shots for task in tasks})
    else:
        wanted |= {"study": "suite", "protocol": submitted["protocol"]}
        is_row = scores["variant"] == checkpoint.variant
    for column, value in wanted.items():
        is_row &= scores[column].fillna("") == value
    return scores[is_row]


def marks(flag: Flag, entry: dict) -> bool:
    """Tell whether a flag is of the row that this accepted request has."""
    request = entry["request"]
    return (
        flag.model == request["name"]
        and flag.precision in (None, request["precision"])
        and entry["commit"].startswith(flag.revision or "")
    )


def read_entries(
    checks: Path, imports: Sequence[Path], tasks: Sequence[ShownTask]
) -> list[dict[str, Any]]:
    """Read the checked requests, and others' results as if they were accepted requests."""
    return [*read_checks(checks), *make_imported_entries(imports, tasks)]


def make_imported_entries(
    folders: Sequence[Path], tasks: Sequence[ShownTask]
) -> list[dict[str, Any]]:
    """Make entries of those results of others that were measured with the leaderboard's shots."""
    shots = {task.task: task.shots for task in tasks}
    rows: dict[tuple[str, str, str, str], list[ImportedCell]] = {}
    for origin, cells in cells_of(folders).items():
        for cell in cells:
            is_comparable = cell.shots == shots.get(cell.task)
            # What was trained or chunked is no model that anyone else has.
            if is_comparable and cell.protocol != "train_before_test" and not cell.variant:
                key = origin, cell.model, cell.dtype or "", cell.commit or ""
                rows.setdefault(key, []).append(cell)
    return [
        {
            "origin": origin,
            "file": f"{origin}/{cells[0].file}",
            "row": f"{origin}/{cells[0].file}",
            "commit": commit,
            "parameters": cells[0].parameters,
            "licence": None,
            "reason": None,
            "records": {},
            "request": {
                "name": model,
                "precision": dtype,
                "protocol": "few_shot",
                "model_type": None,
                "weight_type": None,
                "note": " ".join(told(cells)),
            },
        }
        for (origin, model, dtype, commit), cells in rows.items()
    ]


def _format_columns(frame: pd.DataFrame, request: SuiteTables) -> ShownColumns:
    names = {task.task: task.title for task in request.tasks}
    missing = [None if pd.isna(text) else text.split() for text in frame["missing"]]
    return {
        "Model": frame["model"],
        "Precision": frame["precision"].where(frame["precision"] != "", None),
        "Commit": frame["commit"].str[:7].where(frame["commit"] != "", None),
        "Origin": frame["origin"],
        "Type": frame["model_type"],
        "Protocol": frame["protocol"].str.replace("_", "-"),
        "Average": _format_scores(frame["average"], frame["average_stderr"]),
        "Behind the first": _format_scores(frame["behind"], frame["behind_stderr"]),
        **{
            f"{task.title} ({task.shown_as}, {task.shots}-shot)": _format_scores(
                frame[task.task], frame[f"{task.task}_stderr"]
            )
            for task in request.tasks
        },
        "Missing": [tasks and ", ".join(names[task] for task in tasks) for tasks in missing],
        "Flag": frame["flag"],
    }


def _format_scores(
    values: Iterable[float | None], errors: Iterable[float | None]
) -> list[str | None]:
    return with_errors(values, errors, lambda share: f"{100 * share:.1f}")


def main(
    scores: Path,
    errors: Path,
    checks: Path,
    imports: list[Path],
    table: list[Path],
    tables: dict[str, Any],
) -> None:
    request = SuiteTables.of(tables)
    entries = read_entries(checks, imports, request.tasks)
    board = make_leaderboard(pd.read_parquet(scores), entries, request, pd.read_parquet(errors))
    write_table(board, table, title="Leaderboard", note=NOTE, shown=_format_columns(board, request))


if "snakemake" in globals():
    run_job(main, snakemake)
