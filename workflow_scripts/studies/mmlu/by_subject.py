"""Tabulate MMLU of each checkpoint by subject, beside the floor and the published numbers."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.figures import PALETTE, drawing
from workflow_scripts.render.tables import ShownColumns, write_table
from workflow_scripts.render.text import format_with_errors, numbers
from workflow_scripts.render.words import CLEAR
from workflow_scripts.stats.shares import errors_above

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
_KEYS = ["subject", "model", "variant"]
_COLUMNS = [
    *_KEYS,
    *("n", "floor"),
    *(f"{metric}{suffix}" for metric in METRICS for suffix in ("", "_stderr")),
    *("published_qem", "published_stderr"),
    *(f"{metric}_z" for metric in METRICS),
]


def compute_by_subject(
    scores: pd.DataFrame,
    checkpoints: Mapping[str, str | None],
    published: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    """Compute one row per subject and checkpoint, the averages first, checkpoints in the given order.

    `checkpoints` has the published table of the same variant, if any, of each checkpoint.
    """
    scores = scores[(scores["study"] == "mmlu") & (scores["protocol"] == "few_shot")]
    duplicated = scores[scores.duplicated(["model", "variant", "subset", "metric"])]
    for row in duplicated.itertuples():
        raise UserError(
            f"There are several scores {row.metric} of {row.model}{row.variant} in the study mmlu; expected"
            " one. Delete results/scores/mmlu.parquet."
        )
    subjects = (MICRO, MACRO, *sorted(scores["subset"].dropna().unique()))
    is_macro = scores["metric"].str.endswith("_macro")
    scores = scores.assign(
        subject=scores["subset"].fillna(MICRO).mask(is_macro, MACRO),
        metric=scores["metric"].str.removesuffix("_macro"),
    )
    scores = scores[scores["metric"].isin(METRICS)].set_index(_KEYS)
    printed = {name: published_scores(table) for name, table in published.items()}
    rows = []
    for subject in subjects:
        for name, source in checkpoints.items():
            checkpoint = CheckpointId.parse(name)
            value, stderr = printed.get(source or "", {}).get(subject, (None, None))
            if subject == MACRO:  # what is printed beside their average is no standard error of it
                stderr = None
            rows.append([subject, checkpoint.model, checkpoint.variant, value, stderr])
    table = pd.DataFrame(rows, columns=[*_KEYS, "published_qem", "published_stderr"])
    table = table.set_index(_KEYS)
    # One floor for the three metrics: the fraction of the most frequent letter, or of a random one.
    table[["n", "floor"]] = scores.groupby(_KEYS)[["n", "floor"]].max()
    for metric in METRICS:
        values = scores[scores["metric"] == metric]
        table[metric] = values["value"]
        table[f"{metric}_stderr"] = values["stderr"]
        table[f"{metric}_z"] = errors_above(
            table[metric], table[f"{metric}_stderr"], table["floor"], table["n"]
        )
    numeric = dict.fromkeys(_COLUMNS[len(_KEYS) :], "float64") | {"n": "Int64"}
    return table.reset_index()[_COLUMNS].astype(numeric)


def published_scores(table: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Read the average and each subject of a published table: the score, and what is printed beside it."""
    scores = {}
    for row in table.itertuples():
        match = _PUBLISHED.fullmatch(row.task)
        if row.task == "all":
            scores[MACRO] = (row.value, row.stderr)
        elif match and match[1] != "_average":  # it is `all` once more
            scores[match[1]] = (row.value, row.stderr)
    return scores


def _format_columns(table: pd.DataFrame) -> ShownColumns:
    shown = {
        "Subject": _titles(table["subject"]),
        "Model": table["model"] + table["variant"],
        "n": numbers(table["n"], "d"),
        "Floor": numbers(table["floor"]),
        "Published qem": format_with_errors(table["published_qem"], table["published_stderr"]),
    }
    for metric in METRICS:
        shown[metric] = format_with_errors(table[metric], table[f"{metric}_stderr"])
        shown[f"{metric} above by"] = numbers(table[f"{metric}_z"], "+.1f")
    return shown


def _titles(subjects: Iterable[str]) -> list[str]:
    return [_AVERAGES.get(name, name.replace("_", " ")) for name in subjects]


def plot_by_subject(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    """Plot how far each checkpoint is from the floor: subjects down, metrics across, a dot if clearly above."""
    from matplotlib.colors import LinearSegmentedColormap

    names = table["model"] + table["variant"]
    subjects, checkpoints = table["subject"].unique(), names.unique()
    cells = table.set_index([table["subject"], names])
    labels, above, clear = [], [], []
    for name in checkpoints:
        rows = cells.xs(name, level=1).loc[subjects]
        for metric in METRICS:
            labels.append(f"{name} {metric}")
            above.append((rows[metric] - rows["floor"]).to_numpy())
            clear.append((rows[f"{metric}_z"] >= CLEAR).to_numpy())
    # Grey below: how far below the floor a score lies says nothing about what a model knows.
    colours = LinearSegmentedColormap.from_list("floor", ["0.6", "white", PALETTE[0]])
    reach = max(0.1, np.nanmax(np.abs(above), initial=0.0))
    width, height = 3.0 + 0.3 * max(len(labels), 9), 4.0 + 0.15 * len(subjects)
    with drawing([pdf, png], width, height) as (fig, axes):
        mesh = axes.pcolormesh(
            np.transpose(above), cmap=colours, vmin=-reach, vmax=reach, edgecolors="0.85"
        )
        columns, rows = np.nonzero(clear)
        axes.plot(
            columns + 0.5,
            rows + 0.5,
            "o",
            color="black",
            markersize=3,
            label=f"above the floor by {CLEAR} standard errors or more",
        )
        axes.set_yticks(np.arange(len(subjects)) + 0.5, _titles(subjects), fontsize=7)
        axes.set_xticks(np.arange(len(labels)) + 0.5, labels, fontsize=7, rotation=90)
        axes.invert_yaxis()
        fig.colorbar(mesh, ax=axes, label="score minus floor (white: at the floor)")
        fig.legend(loc="outside lower center")


def main(
    scores: Path,
    published: list[Path],
    table: list[Path],
    figure: list[Path],
    checkpoints: dict[str, str | None],
) -> None:
    printed = {path.stem: pd.read_csv(path) for path in published}
    by_subject = compute_by_subject(pd.read_parquet(scores), checkpoints, printed)
    write_table(
        by_subject, table, title="MMLU by subject", note=NOTE, shown=_format_columns(by_subject)
    )
    plot_by_subject(by_subject, *figure)


if "snakemake" in globals():
    run_job(main, snakemake)
