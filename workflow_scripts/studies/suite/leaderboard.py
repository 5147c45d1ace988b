"""The leaderboard: a row for each model, precision and commit, with the suite's tasks and their average."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.tables import write_table
from workflow_scripts.studies.suite.requests import accepted, parameters_of

TITLE = "Leaderboard"
NOTE = (
    "Scores in percent ± standard error, which is 0 where none or all of the items are right, however"
    " few they are; n is in the CSV. Average: the mean of all tasks of the suite, for rows that"
    " have all of them alone; a cell that is missing is named and never filled. Floor: in the first"
    " row, the best that answering at random or a fixed answer scores. A flag was set by hand, its"
    " reason is in the last column; the row stays."
)
_FACTS = ("model_type", "weight_type", "protocol", "note")
_TEXTS = (
    "model",
    "precision",
    "commit",
    "licence",
    *_FACTS,
    "file",
    "row",
    "missing",
    "flag",
    "flag_link",
)


def suite_leaderboard(
    scores: pd.DataFrame, checks: list[dict], tasks: list[dict], flags: list[dict]
) -> pd.DataFrame:
    """One row per accepted request, best first, those without an average at the end."""
    scores = scores[(scores["study"] == "suite") & scores["subset"].isna()]
    rows = [_row(entry, scores, tasks, flags) for entry in accepted(checks)]
    columns = ["model", "precision", "commit", "licence", "parameters", *_FACTS, "file", "row"]
    columns += ["average", "average_stderr", "missing", "flag", "flag_link"]
    for task in tasks:
        columns += [f"{task['task']}{part}" for part in ("", "_stderr", "_n", "_floor")]
    table = pd.DataFrame(rows, columns=columns)
    return table.sort_values(
        ["average", "model", "precision"],
        ascending=[False, True, True],
        kind="stable",
        ignore_index=True,
    )


def read_leaderboard(csv: Path) -> pd.DataFrame:
    """The table as it was written: a commit of digits alone, or with one e in it, is no number."""
    names = pd.read_csv(csv, nrows=0).columns
    texts = {name: "string" for name in names if name in _TEXTS}
    return pd.read_csv(csv, dtype=texts, keep_default_na=False, na_values=[""])


def _row(entry: dict, scores: pd.DataFrame, tasks: list[dict], flags: list[dict]) -> dict[str, Any]:
    request = entry["request"]
    own = _scores_of(entry, scores)
    flag = next((flag for flag in flags if marks(flag, entry)), {})
    row = {
        "model": request["name"],
        "precision": request["precision"],
        **{key: entry[key] for key in ("commit", "licence", "file", "row")},
        "parameters": parameters_of(entry),
        **{key: request[key] for key in _FACTS},
        "flag": flag.get("reason"),
        "flag_link": flag.get("link"),
    }
    missing = []
    for task in tasks:
        name = task["task"]
        found = own[(own["task"] == name) & (own["metric"] == task["metric"])]
        if len(found) > 1:
            raise UserError(
                f"There are {len(found)} scores of {request['name']} in {request['precision']} on"
                f" {name}; expected one. Delete results/scores/suite.parquet."
            )
        if found.empty:
            missing.append(name)
            continue
        one = found.iloc[0]
        row |= {name: one["value"], f"{name}_stderr": one["stderr"], f"{name}_n": one["n"]}
        row[f"{name}_floor"] = one["floor"]
    row["missing"] = " ".join(missing) or None
    if not missing:
        row["average"] = float(np.mean([row[task["task"]] for task in tasks]))
        errors = [row[f"{task['task']}_stderr"] for task in tasks]
        if not any(pd.isna(error) for error in errors):
            row["average_stderr"] = float(np.linalg.norm(errors) / len(tasks))
    return row


def _scores_of(entry: dict, scores: pd.DataFrame) -> pd.DataFrame:
    request = entry["request"]
    checkpoint = CheckpointId.parse(request["name"])
    own = (
        (scores["model"] == checkpoint.model)
        & (scores["variant"] == checkpoint.variant)
        & (scores["dtype"] == request["precision"])
        & (scores["protocol"] == request["protocol"])
    )
    if not checkpoint.variant:  # a checkpoint has a commit of its own, and one alone
        own &= scores["commit"] == entry["commit"]
    return scores[own]


def marks(flag: dict, entry: dict) -> bool:
    """Whether a flag is of the row that this accepted request has."""
    request = entry["request"]
    return (
        flag["model"] == request["name"]
        and flag["precision"] in (None, request["precision"])
        and entry["commit"].startswith(flag["revision"] or "")
    )


def write_suite_leaderboard(
    table: pd.DataFrame, tasks: list[dict], csv: Path, md: Path, tex: Path
) -> None:
    def show(frame: pd.DataFrame) -> pd.DataFrame:
        names = {task["task"]: task["title"] for task in tasks}
        shown = {
            "Model": ["Floor", *frame["model"]],
            "Precision": [None, *frame["precision"]],
            "Commit": [None, *frame["commit"].str[:7]],
            "Type": [None, *frame["model_type"]],
            "Protocol": [None, *frame["protocol"].str.replace("_", "-")],
            "Average": [None, *_scores(frame, "average")],
        }
        for task in tasks:
            head = f"{task['title']} ({task['shown_as']}, {task['shots']}-shot)"
            floor = frame[f"{task['task']}_floor"].max()
            shown[head] = [_percent(floor), *_scores(frame, task["task"])]
        shown["Missing"] = [
            None,
            *(
                None if pd.isna(one) else ", ".join(names[task] for task in one.split())
                for one in frame["missing"]
            ),
        ]
        shown["Flag"] = [None, *frame["flag"]]
        return pd.DataFrame(shown)

    write_table(table, csv=csv, md=md, tex=tex, title=TITLE, note=NOTE, show=show)


def _scores(frame: pd.DataFrame, name: str) -> list[str | None]:
    return [
        None
        if pd.isna(value)
        else f"{100 * value:.1f}" + ("" if pd.isna(error) else f" ± {100 * error:.1f}")
        for value, error in zip(frame[name], frame[f"{name}_stderr"], strict=True)
    ]


def _percent(value: float) -> str | None:
    return None if pd.isna(value) else f"{100 * value:.1f}"
