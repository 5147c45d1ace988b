"""Make the leaderboard's first tab, and the About and FAQ beside it."""

from pathlib import Path
from typing import Any, get_args

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from workflow_scripts.hub.sandbox import MEGABYTES, SECONDS
from workflow_scripts.planning.memory import submitted_mb
from workflow_scripts.render.frames import Cells, cells
from workflow_scripts.render.tables import read_table
from workflow_scripts.render.web.board import Column, Tab
from workflow_scripts.render.words import CLEAR
from workflow_scripts.settings import requests
from workflow_scripts.settings.compute import Precision
from workflow_scripts.stats.shares import share_error
from workflow_scripts.studies.ranking.frame import OWN
from workflow_scripts.studies.suite import checks
from workflow_scripts.studies.suite.table_requests import SuitePage

# An icon and a sentence for each model type that a request may have.
MODEL_TYPES = {
    "pretrained": ("●", "Trained from scratch on text."),
    "continuously pretrained": ("◐", "A pretrained model, trained further on more text."),
    "fine-tuned": ("◆", "Trained on examples of tasks."),
    "chat": ("❝", "Trained to follow instructions or to hold a conversation."),
    "merged": ("⊕", "Weights of several models combined."),
    "chunked": ("‖", "Groups of layers that run in parallel, made by a chunk plan."),
}


def make_suite_tab(leaderboard_csv: Path, checks_csv: Path, request: SuitePage) -> Tab:
    board = read_table(leaderboard_csv)
    findings = read_table(checks_csv)
    lost = findings[findings["check"] == checks.LOST_FLAG]
    lost_flags = [f"{row.model}: {row.detail}" for row in lost.itertuples()]
    found = findings.groupby("file")["detail"].agg(" ".join).to_dict()
    rows = []
    for row in cells(board):
        icon, _ = MODEL_TYPES.get(row["model_type"], ("", ""))
        row["model_type"] = row["model_type"] and f"{icon} {row['model_type']}"
        row["checks"] = found.get(row["file"])
        rows.append(row)
    return Tab(
        id="suite",
        title="Leaderboard",
        about=" ".join(
            [
                "Submitted models on a suite of tasks. Scores in percent, ± standard error. Rows in italics"
                " are baselines; a score that does not clear its task's floor shows nothing.",
                *lost_flags,
            ]
        ),
        columns=[
            Column("model", "Model", "name"),
            Column("model_type", "Type", "choice", "The kind of model."),
            Column("precision", "Precision", "choice"),
            Column("average", "Average", "score", "The mean of all tasks, where all are there."),
            *(
                Column(
                    task.task, task.title, "score", f"{task.shots}-shot, {task.metric} of lm-eval."
                )
                for task in request.tasks
            ),
            Column("behind", "Behind", "score", "The first, over the same items.", shown=False),
            Column("commit", "Commit", "commit", "The model's revision."),
            Column("parameters", "Parameters", "count"),
            Column("licence", "Licence", "choice"),
            Column("origin", "Origin", "choice", shown=bool((board["origin"] != OWN).any())),
            Column("protocol", "Protocol", "choice", shown=False),
            Column("weight_type", "Weights", "choice", shown=False),
            Column("checks", "Checks", "text", "Found by rules, and no judgement."),
            Column("note", "Note", "text", "By its submitter.", shown=False),
            Column("flag", "Flag", "flag", shown=False),
        ],
        rows=[*_make_baselines(board, request), *rows],
        sort="average",
        search=("model", "note"),
    )


def _make_baselines(board: pd.DataFrame, request: SuitePage) -> list[Cells]:
    """Make rows of floors, random answers (where rows had other items, the highest) and published scores."""
    rows = []
    for name, part in (("Floor", "floor"), ("Random answers", "chance")):
        scores = {task.task: board[f"{task.task}_{part}"].max() for task in request.tasks}
        known = {task: float(score) for task, score in scores.items() if pd.notna(score)}
        average = sum(known.values()) / len(known) if len(known) == len(scores) else None
        rows.append({"model": name, "average": average, **known})
    for published in request.baselines:
        score = float(published["percent"]) / 100
        task = published["task"]
        stderr = float(share_error(score, int(published["items"])))
        note = f"{published['what']} {published['source']}."
        rows.append(
            {"model": published["name"], task: score, f"{task}_stderr": stderr, "checks": note}
        )
    return [row | {"is_baseline": True} for row in rows]


def render_texts(request: SuitePage) -> dict[str, Markup]:
    """Render About and FAQ with the numbers of this config and this code."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
    )
    template = environment.get_template("about.html.j2")
    values = {
        "request": request,
        "model_types": MODEL_TYPES,
        "keys": [
            (
                key,
                field.is_required(),
                field.description,
                _list_values(field.annotation),
            )
            for key, field in requests.Request.model_fields.items()
        ],
        "limits": requests,
        "fits": {name: _fit_millions(request, name) for name in get_args(Precision)},
        "seconds": SECONDS,
        "megabytes": MEGABYTES,
        "clear": CLEAR,
        "suspicious": checks.SUSPICIOUS,
    }
    return {name: Markup(template.render(part=name, **values)) for name in ("About", "FAQ")}


def _list_values(annotation: Any) -> str:
    return ", ".join(value for value in get_args(annotation) if isinstance(value, str))


def _fit_millions(request: SuitePage, precision: str) -> int:
    """Compute how many million parameters fit a job's memory."""
    libraries = submitted_mb(0, precision, trains=False)
    million = (submitted_mb(10**9, precision, trains=False) - libraries) / 1_000
    return max(0, int((request.memory_mb - libraries) / million))
