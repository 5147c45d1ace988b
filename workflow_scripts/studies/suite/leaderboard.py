"""The leaderboard: a row for each model, precision and commit, with the suite's tasks and their average."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.frames import Columns
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.tables import Table
from workflow_scripts.render.text import with_errors
from workflow_scripts.settings.flags import Flag
from workflow_scripts.studies.ranking.frame import OWN
from workflow_scripts.studies.suite.baselines import baselines
from workflow_scripts.studies.suite.behind import KEY, behind_first
from workflow_scripts.studies.suite.imported import imported_entries
from workflow_scripts.studies.suite.requests import accepted, parameters_of, read_checks
from workflow_scripts.studies.suite.table_requests import ShownTask, SuiteBoard, SuiteTables

NOTE = (
    "Scores in percent ± standard error; n is in the CSV. Average: the mean of all tasks of the suite, for rows that"
    " have all of them alone. Behind the first: by how much that mean is lower, with the error of the"
    " difference on the same items. A cell that is missing is named and never filled. The first rows are"
    " baselines and no models. Floor: the better of random answers and of one fixed answer. Random"
    " answers: an open question has no such score. A published score is of another protocol, and so are those of"
    " the Open LLM Leaderboard (table suite_protocol, with its commit of lm-eval). Origin: own runs, or the folder"
    " that results were imported from, whose harness, and where its tasks are others than ours, stand in the CSV's"
    " note. A flag was set by hand, its"
    " reason is in the last column; the row stays."
)
COLUMNS = Columns(
    {
        **{"model": "text", "precision": "text", "commit": "text", "licence": "maybe"},
        **{"parameters": "whole", "model_type": "maybe", "weight_type": "maybe"},
        **{"protocol": "text", "note": "maybe", "file": "text", "row": "text"},
        **{"average": "number", "average_stderr": "number", "missing": "maybe"},
        **{"origin": "text", "behind": "number", "behind_stderr": "number"},
        **{"flag": "maybe", "flag_link": "maybe"},
    },
    like={".+_n": "whole", ".+": "number"},  # of each task
)
# By what a row's scores are found among the errors of the suite.
_MEASURED = {f"measured_{name}": name for name in KEY[1:]}
_FACTS = ("model_type", "weight_type", "protocol", "note")


def suite_leaderboard(
    scores: pd.DataFrame, checks: list[dict], request: SuiteTables, errors: pd.DataFrame
) -> pd.DataFrame:
    """One row per accepted request, best first, those without an average at the end.

    `errors` are those of the suite's items, as scores.influences has them.
    """
    scores = scores[scores["subset"].isna()]
    rows = [_row(entry, scores, request) for entry in accepted(checks)]
    columns = list(COLUMNS.named)
    for one in request.tasks:
        columns += [f"{one.task}{part}" for part in ("", "_stderr", "_n", "_floor", "_chance")]
    table = pd.DataFrame(rows, columns=[*columns, *_MEASURED]).sort_values(
        ["average", "model", "precision"],
        ascending=[False, True, True],
        kind="stable",
        ignore_index=True,
    )
    if len(ranked := table.dropna(subset=["average"])):
        keys = ranked[["protocol"]].join(ranked[list(_MEASURED)].set_axis(KEY[1:], axis=1))
        keys = keys.fillna("")  # imported scores may lack number format and commit
        found = behind_first(ranked, keys, errors, request)
        table[found.columns] = found
    return table[columns]


def _row(entry: dict, scores: pd.DataFrame, request: SuiteTables) -> dict[str, Any]:
    submitted = entry["request"]
    own = _scores_of(entry, scores, request)
    flag = next((flag for flag in request.flags if marks(flag, entry)), None)
    row = {
        "model": submitted["name"],
        "precision": submitted["precision"],
        **{key: entry[key] for key in ("commit", "licence", "file", "row")},
        "parameters": parameters_of(entry),
        **{key: submitted[key] for key in _FACTS},
        "origin": entry.get("origin", OWN),
        "flag": flag and flag.reason,
        "flag_link": flag and flag.link,
    }
    missing = []
    for task in request.tasks:
        name = task.task
        found = own[(own["task"] == name) & (own["metric"] == task.metric)]
        if len(found) > 1:
            raise UserError(
                f"There are {len(found)} scores of {submitted['name']} in {submitted['precision']} on"
                f" {name}; expected one. Delete results/scores/suite.parquet."
            )
        if found.empty:
            missing.append(name)
            continue
        one = found.iloc[0]
        row |= {measured: one[column] for measured, column in _MEASURED.items()}
        row |= {name: one["value"], f"{name}_stderr": one["stderr"], f"{name}_n": one["n"]}
        row |= {f"{name}_{part}": one[part] for part in ("floor", "chance")}
    row["missing"] = " ".join(missing) or None
    if not missing:
        row["average"] = float(np.mean([row[task.task] for task in request.tasks]))
        errors = [row[f"{task.task}_stderr"] for task in request.tasks]
        if not any(pd.isna(error) for error in errors):
            row["average_stderr"] = float(np.linalg.norm(errors) / len(errors))
    return row


def _scores_of(entry: dict, scores: pd.DataFrame, asked: SuiteTables) -> pd.DataFrame:
    request = entry["request"]
    if "origin" in entry:  # whose protocol is told by its shots
        shots = scores["task"].map({one.task: one.shots for one in asked.tasks})
        return scores[
            (scores["study"] == entry["origin"])
            & (scores["model"] == request["name"])
            & (scores["dtype"].fillna("") == request["precision"])
            & (scores["commit"].fillna("") == entry["commit"])
            & (scores["shots"] == shots)
        ]
    checkpoint = CheckpointId.parse(request["name"])
    own = (
        (scores["study"] == "suite")
        & (scores["model"] == checkpoint.model)
        & (scores["variant"] == checkpoint.variant)
        & (scores["dtype"] == request["precision"])
        & (scores["protocol"] == request["protocol"])
    )
    if not checkpoint.variant:  # a checkpoint has a commit of its own, and one alone
        own &= scores["commit"] == entry["commit"]
    return scores[own]


def marks(flag: Flag, entry: dict) -> bool:
    """Whether a flag is of the row that this accepted request has."""
    request = entry["request"]
    return (
        flag.model == request["name"]
        and flag.precision in (None, request["precision"])
        and entry["commit"].startswith(flag.revision or "")
    )


def _show(frame: pd.DataFrame, request: SuiteTables) -> pd.DataFrame:
    names = {one.task: one.title for one in request.tasks}
    missing = [None if pd.isna(one) else one.split() for one in frame["missing"]]
    models = pd.DataFrame(
        {
            "Model": frame["model"],
            "Precision": frame["precision"].where(frame["precision"] != "", None),
            "Commit": frame["commit"].str[:7].where(frame["commit"] != "", None),
            "Origin": frame["origin"],
            "Type": frame["model_type"],
            "Protocol": frame["protocol"].str.replace("_", "-"),
            "Average": _scores(frame["average"], frame["average_stderr"]),
            "Behind the first": _scores(frame["behind"], frame["behind_stderr"]),
            **{
                _head(one): _scores(frame[one.task], frame[f"{one.task}_stderr"])
                for one in request.tasks
            },
            "Missing": [one and ", ".join(names[task] for task in one) for one in missing],
            "Flag": frame["flag"],
        }
    )
    beside = [
        {
            "Model": one.name,
            "Type": "baseline",
            "Average": _scores([one.average], [None])[0],
            **{
                _head(task): _scores([one.scores.get(task.task)], [one.errors.get(task.task)])[0]
                for task in request.tasks
            },
        }
        for one in baselines(frame, request)
    ]
    return pd.concat(
        [pd.DataFrame(beside, columns=models.columns, dtype=object), models.astype(object)],
        ignore_index=True,
    )


def _head(one: ShownTask) -> str:
    return f"{one.title} ({one.shown_as}, {one.shots}-shot)"


def _scores(values: Iterable[float | None], errors: Iterable[float | None]) -> list[str | None]:
    return with_errors(values, errors, lambda share: f"{100 * share:.1f}")


def _make(inputs: Inputs, request: SuiteTables) -> pd.DataFrame:
    scores = pd.read_parquet(inputs.one("scores"))
    errors = pd.read_parquet(inputs.one("errors"))
    return suite_leaderboard(scores, read_entries(inputs, request), request, errors)


def read_entries(inputs: Inputs, request: SuiteTables | SuiteBoard) -> list[dict[str, Any]]:
    """The requests as they were checked, and others' results as if they were accepted."""
    return [
        *read_checks(inputs.one("checks")),
        *imported_entries(inputs["imports"], request.tasks),
    ]


TABLE = Table(
    name="suite_leaderboard",
    title="Leaderboard",
    note=NOTE,
    columns=COLUMNS,
    asks=SuiteTables,
    make=_make,
    show=_show,
)
