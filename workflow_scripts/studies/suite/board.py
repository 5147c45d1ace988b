"""Make the first tab of the leaderboard page, and its About and FAQ texts."""

from pathlib import Path
from typing import Any, get_args

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from workflow_scripts.hub.sandbox import MAX_MEGABYTES, MAX_SECONDS
from workflow_scripts.render.frames import Row, convert_rows, convert_value
from workflow_scripts.render.tables import read_table
from workflow_scripts.render.thresholds import MIN_CLEAR_Z
from workflow_scripts.render.web.board import Column, Tab
from workflow_scripts.settings import leaderboard_submissions
from workflow_scripts.stats.proportions import compute_fraction_stderr

# The icon and the description of each model type.
MODEL_TYPES = {
    "pretrained": ("●", "Trained from scratch on text."),
    "continuously pretrained": ("◐", "A pretrained model, trained further on more text."),
    "fine-tuned": ("◆", "Trained on examples of tasks."),
    "chat": ("❝", "Trained to follow instructions or to hold a conversation."),
    "merged": ("⊕", "Weights of several models combined."),
    "chunked": ("‖", "Groups of layers that run in parallel, made by a chunk plan."),
}


def make_suite_tab(leaderboard: Path, baselines: Path | None, page: dict[str, Any]) -> Tab:
    """Build the tab from the leaderboard table and the file of published baselines, if any.

    `page` has the suite's settings and tasks.
    """
    board = read_table(leaderboard)
    published = pd.read_csv(baselines, sep="\t") if baselines else pd.DataFrame()
    icons = {name: f"{icon} {name}" for name, (icon, _) in MODEL_TYPES.items()}
    tasks = [
        Column(task["task"], task["title"], "score", f"{task['shots']}-shot, {task['metric']}.")
        for task in page["tasks"]
    ]
    return Tab(
        id="suite",
        title="Leaderboard",
        about=(
            "Submitted models on a suite of tasks. Scores in percent ± standard error. Rows in italics are"
            " baselines; a score at its task's baseline shows no ability."
        ),
        columns=[
            Column("model", "Model", "name"),
            Column("model_type", "Type", "choice", "The kind of model."),
            Column("precision", "Precision", "choice"),
            Column("average", "Average", "score", "Mean over all tasks."),
            *tasks,
            Column("behind", "Behind", "score", "Gap to the first on the same items.", shown=False),
            Column("commit", "Commit", "commit", "The model's revision."),
            Column("parameters", "Parameters", "count"),
            Column("licence", "Licence", "choice"),
            Column("weight_type", "Weights", "choice", shown=False),
            Column("note", "Note", "text", "By its submitter."),
            Column("flag", "Flag", "flag", shown=False),
        ],
        rows=[
            *_make_baselines(board, published, page["tasks"]),
            *convert_rows(board.assign(model_type=board["model_type"].map(icons))),
        ],
        sort="average",
        search=("model", "note"),
    )


def _make_baselines(
    board: pd.DataFrame, published: pd.DataFrame, tasks: list[dict[str, Any]]
) -> list[Row]:
    """Make a row of baselines, a row of random answers (both maxima over the models), and rows of published scores."""
    rows: list[Row] = []
    metrics = {task["task"]: task["metric"] for task in tasks}
    for name, part in (("Baseline", "baseline"), ("Random answers", "chance")):
        scores = board[[f"{task}_{part}" for task in metrics]].astype(float).max()
        scores = scores.set_axis(list(metrics))
        average = convert_value(scores.mean(skipna=False))
        rows.append({"model": name, "average": average, **scores.dropna().to_dict()})
    for line in published.itertuples():
        if metrics.get(line.task) != line.metric:
            continue
        score = line.percent / 100
        stderr = float(compute_fraction_stderr(score, line.items))
        row = {line.task: score, f"{line.task}_stderr": stderr, "model": line.name}
        rows.append(row | {"note": f"{line.what} {line.source}."})
    return [row | {"is_baseline": True} for row in rows]


def render_texts(page: dict[str, Any]) -> dict[str, Markup]:
    """Render About and FAQ with the numbers of the current config and code."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
    )
    template = environment.get_template("about.html.j2")
    values = {
        "page": page,
        "model_types": MODEL_TYPES,
        "fields": leaderboard_submissions.LeaderboardRequest.model_fields,
        "get_args": get_args,
        "limits": leaderboard_submissions,
        "seconds": MAX_SECONDS,
        "megabytes": MAX_MEGABYTES,
        "clear": MIN_CLEAR_Z,
    }
    return {name: Markup(template.render(part=name, **values)) for name in ("About", "FAQ")}
