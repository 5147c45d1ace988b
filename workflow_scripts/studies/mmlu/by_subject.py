"""MMLU of each checkpoint by subject, beside the floor and the published numbers."""

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.figures import PALETTE, drawing, figure_of
from workflow_scripts.render.frames import columns
from workflow_scripts.render.tables import ShownColumns, Table
from workflow_scripts.render.text import numbers, with_errors
from workflow_scripts.render.words import CLEAR
from workflow_scripts.stats.shares import errors_above
from workflow_scripts.studies.mmlu.requests import MmluCheckpoints, PublishedCheckpoint

METRICS = ("qem", "em", "acc")
MICRO, MACRO = "micro", "macro"
_AVERAGES = {MICRO: "all questions (micro)", MACRO: "mean of the subjects (macro)"}
_PUBLISHED = re.compile(r"helm:mmlu:(\w+):5")
NOTE = (
    "Score ± standard error on n questions, lighteval's task. qem: generated answer after HELM's"
    " normalisation, which counts an answer of which nothing is left as a right A; em: generated"
    " answer as it is; acc: likeliest letter. Floor: the best that a fixed or a random answer scores."
    " Above by: standard errors, of a model at the floor, above it;"
    f" below {CLEAR}, nothing was shown, and of 57"
    " subjects one or two get there by luck. Published: qem of Qwen2.5-0.5B-Instruct in the same"
    " variant on all of MMLU, which of chunked models is the one whose mlp adds to nothing (mlp.none);"
    " in the miniature world models and questions are others, and only the shape can be compared."
)
COLUMNS = columns(
    ("text", "subject model variant"),
    ("whole", "n"),
    ("number", "floor"),
    ("number", " ".join(f"{metric}{of}" for metric in METRICS for of in ("", "_stderr"))),
    ("number", "published_qem published_stderr"),
    ("number", " ".join(f"{metric}_z" for metric in METRICS)),
)


def mmlu_by_subject(
    scores: pd.DataFrame, request: MmluCheckpoints, published: dict[str, pd.DataFrame]
) -> pd.DataFrame:
    """One row per subject and checkpoint, the averages first, checkpoints in the order given."""
    if not request.checkpoints:
        raise UserError(
            "There is no model to show MMLU of: chunking.checkpoints and mmlu.models are empty;"
            " expected at least one entry in either."
        )
    scores = scores[(scores["study"] == "mmlu") & (scores["protocol"] == "few_shot")]
    keys = ["model", "variant", "subset", "metric"]
    if scores.duplicated(keys).any():
        twice = scores[scores.duplicated(keys)].iloc[0]
        raise UserError(
            f"There are several scores {twice['metric']} of {twice['model']}{twice['variant']} in the"
            " study mmlu; expected one. Delete results/scores/mmlu.parquet."
        )
    subjects = (MICRO, MACRO, *sorted(scores["subset"].dropna().unique()))
    # One row for the three metrics: of the floor, the share of the most frequent letter, or of a random one.
    macro = scores["metric"].str.endswith("_macro")
    scores = scores.assign(
        subject=scores["subset"].fillna(MICRO).mask(macro, MACRO),
        metric=scores["metric"].str.removesuffix("_macro"),
    )
    scores = scores[scores["metric"].isin(METRICS)]
    keys = ["subject", "model", "variant"]
    theirs = {name: published_scores(table) for name, table in published.items()}
    rows = [
        _beside(subject, checkpoint, theirs)
        for subject in subjects
        for checkpoint in request.checkpoints
    ]
    table = pd.DataFrame(rows).set_index(keys)
    table[["n", "floor"]] = scores.groupby(keys)[["n", "floor"]].max()
    for metric in METRICS:
        found = scores[scores["metric"] == metric].set_index(keys)
        table[metric], table[f"{metric}_stderr"] = found["value"], found["stderr"]
        of_metric = (table[name] for name in (metric, f"{metric}_stderr", "floor", "n"))
        table[f"{metric}_z"] = errors_above(*of_metric)
    return COLUMNS.typed(table.reset_index())


def _beside(subject: str, checkpoint: PublishedCheckpoint, theirs: dict) -> dict:
    id = CheckpointId.parse(checkpoint.id)
    value, stderr = theirs.get(checkpoint.published, {}).get(subject, (None, None))
    return {
        "subject": subject,
        "model": id.model,
        "variant": id.variant,
        "published_qem": value,
        # What is printed beside their average is no standard error of the average.
        "published_stderr": None if subject == MACRO else stderr,
    }


def published_scores(table: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """The average and each subject of a published table: the score, and what is printed beside it."""
    found = {}
    for row in table.itertuples():
        match = _PUBLISHED.fullmatch(row.task)
        if row.task == "all":
            found[MACRO] = (row.value, row.stderr)
        elif match and match[1] != "_average":  # it is `all` once more
            found[match[1]] = (row.value, row.stderr)
    return found


def _show(table: pd.DataFrame, _: MmluCheckpoints) -> ShownColumns:
    shown = {
        "Subject": _titles(table["subject"]),
        "Model": table["model"] + table["variant"],
        "n": numbers(table["n"], "d"),
        "Floor": numbers(table["floor"]),
        "Published qem": with_errors(table["published_qem"], table["published_stderr"]),
    }
    for metric in METRICS:
        shown[metric] = with_errors(table[metric], table[f"{metric}_stderr"])
        shown[f"{metric} above by"] = numbers(table[f"{metric}_z"], "+.1f")
    return shown


def _titles(subjects: Iterable[str]) -> list[str]:
    return [_AVERAGES.get(name, name.replace("_", " ")) for name in subjects]


TABLE = Table(
    name="mmlu_by_subject",
    title="MMLU by subject",
    note=NOTE,
    columns=COLUMNS,
    asks=MmluCheckpoints,
    make=lambda inputs, request: mmlu_by_subject(
        pd.read_parquet(inputs.one("scores")),
        request,
        {path.stem: pd.read_csv(path) for path in inputs["published"]},
    ),
    show=_show,
)


def write_mmlu_figure(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    """Subjects down, checkpoints and metrics across: how far from the floor, a dot if clearly above."""
    from matplotlib.colors import LinearSegmentedColormap

    cells = table.assign(checkpoint=table["model"] + table["variant"])
    subjects = list(dict.fromkeys(cells["subject"]))
    columns = [(metric, name) for name in dict.fromkeys(cells["checkpoint"]) for metric in METRICS]
    cells = cells.set_index(["subject", "checkpoint"])

    def spread(values: pd.DataFrame) -> np.ndarray:
        return values.unstack("checkpoint").loc[subjects, columns].to_numpy()

    above = spread(cells[list(METRICS)].sub(cells["floor"], axis=0))
    clear = spread(cells[[f"{m}_z" for m in METRICS]].set_axis(METRICS, axis=1) >= CLEAR)
    # Grey below: how far below the floor a score lies says nothing about what a model knows.
    colours = LinearSegmentedColormap.from_list("floor", ["0.6", "white", PALETTE[0]])
    reach = max(0.1, np.nanmax(np.abs(above), initial=0.0))
    width, height = 3.0 + 0.3 * max(len(columns), 9), 4.0 + 0.15 * len(subjects)
    with drawing(pdf, png, width, height) as (fig, axes):
        mesh = axes.pcolormesh(above, cmap=colours, vmin=-reach, vmax=reach, edgecolors="0.85")
        downs, acrosses = np.nonzero(clear)
        axes.plot(
            acrosses + 0.5,
            downs + 0.5,
            "o",
            color="black",
            markersize=3,
            label=f"above the floor by {CLEAR} standard errors or more",
        )
        axes.set_yticks(np.arange(len(subjects)) + 0.5, _titles(subjects), fontsize=7)
        labels = [f"{name} {metric}" for metric, name in columns]
        axes.set_xticks(np.arange(len(columns)) + 0.5, labels, fontsize=7, rotation=90)
        axes.invert_yaxis()
        fig.colorbar(mesh, ax=axes, label="score minus floor (white: at the floor)")
        fig.legend(loc="outside lower center")


FIGURE = figure_of(TABLE, write_mmlu_figure)
