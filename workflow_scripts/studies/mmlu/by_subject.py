"""MMLU of each checkpoint by subject, beside the floor and the published numbers."""

from pathlib import Path
from textwrap import wrap

import numpy as np
import pandas as pd

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.render.figures import FORMATS, PALETTE, figure, save
from workflow_scripts.render.tables import write_table

TITLE = "MMLU by subject"
METRICS = ("qem", "em", "acc")
MICRO, MACRO = "micro", "macro"
_AVERAGES = {MICRO: "all questions (micro)", MACRO: "mean of the subjects (macro)"}
_PUBLISHED_MACRO, _PUBLISHED_TASK = "all", r"helm:mmlu:(\w+):5"
_LABEL_WIDTH = 15  # characters over three columns of the figure
_CLEAR = 2  # standard errors above the floor, from which on something was shown
NOTE = (
    "Score ± standard error on n questions, lighteval's task. qem: generated answer after HELM's"
    " normalisation, which counts an answer of which nothing is left as a right A; em: generated"
    " answer as it is; acc: likeliest letter. Floor: the best that a fixed or a random answer scores."
    f" Above by: standard errors above the floor; below {_CLEAR}, nothing was shown, and of 57"
    " subjects one or two get there by luck. Published: qem of Qwen2.5-0.5B-Instruct in the same"
    " variant on all of MMLU; in the miniature world models and questions are others, and only the"
    " shape can be compared."
)


def mmlu_by_subject(
    scores: pd.DataFrame, checkpoints: list[dict], published: dict[str, pd.DataFrame]
) -> pd.DataFrame:
    """One row per subject and checkpoint, the averages first, checkpoints in the order given.

    A checkpoint is its `id` and, as `published`, the key of its published table, or None.
    """
    if not checkpoints:
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
    found = {
        (row.model, row.variant, None if pd.isna(row.subset) else row.subset, row.metric): row
        for row in scores.itertuples()
    }
    theirs = {name: _published(table) for name, table in published.items()}
    subjects = sorted(scores["subset"].dropna().unique())
    rows = [
        _row(subject, checkpoint, found, theirs)
        for subject in (MICRO, MACRO, *subjects)
        for checkpoint in checkpoints
    ]
    table = pd.DataFrame(rows)
    numbers = table.columns.drop(["subject", "model", "variant"])
    table[numbers] = table[numbers].apply(pd.to_numeric)
    for metric in METRICS:
        # Always right is infinitely far above. Always the same wrong has no spread, and says nothing.
        z = (table[metric] - table["floor"]) / table[f"{metric}_stderr"]
        table[f"{metric}_z"] = z.mask(z == -np.inf)
    return table


def _row(subject: str, checkpoint: dict, found: dict, theirs: dict) -> dict:
    id = CheckpointId.parse(checkpoint["id"])
    subset = None if subject in _AVERAGES else subject
    cells = {
        metric: found.get(
            (id.model, id.variant, subset, f"{metric}_macro" if subject == MACRO else metric)
        )
        for metric in METRICS
    }
    known = [cell for cell in cells.values() if cell is not None]
    row = {
        "subject": subject,
        "model": id.model,
        "variant": id.variant,
        "n": max((cell.n for cell in known), default=None),
        # One for the three: the share of the most frequent letter, or of a random one.
        "floor": max((cell.floor for cell in known if pd.notna(cell.floor)), default=None),
    }
    for metric, cell in cells.items():
        row[metric] = None if cell is None else cell.value
        row[f"{metric}_stderr"] = None if cell is None else cell.stderr
    row["published_qem"], row["published_stderr"] = theirs.get(checkpoint["published"], {}).get(
        subject, (None, None)
    )
    return row


def _published(table: pd.DataFrame) -> dict[str, tuple[float, float | None]]:
    """By subject. What is printed beside their average is no standard error of the average."""
    found = {}
    for row in table.itertuples():
        if row.task == _PUBLISHED_MACRO:
            found[MACRO] = (row.value, None)
        elif name := pd.Series([row.task]).str.extract(_PUBLISHED_TASK)[0].dropna().tolist():
            found[name[0]] = (row.value, row.stderr)
    found.pop("_average", None)
    return found


def write_mmlu_table(table: pd.DataFrame, csv: Path, md: Path, tex: Path) -> None:
    write_table(table, csv=csv, md=md, tex=tex, title=TITLE, note=NOTE, show=_show)


def _show(table: pd.DataFrame) -> pd.DataFrame:
    def number(value: float, spec: str) -> str | None:
        return None if pd.isna(value) else format(value, spec).replace("-", "−").replace("inf", "∞")

    def score(values: pd.Series, stderrs: pd.Series) -> list[str | None]:
        return [
            None if pd.isna(v) else number(v, ".3f") + ("" if pd.isna(e) else f" ± {e:.3f}")
            for v, e in zip(values, stderrs, strict=True)
        ]

    shown = {
        "Subject": [_AVERAGES.get(name, name.replace("_", " ")) for name in table["subject"]],
        "Model": table["model"] + table["variant"],
        "n": [number(n, ".0f") for n in table["n"]],
        "Floor": [number(f, ".3f") for f in table["floor"]],
        "Published qem": score(table["published_qem"], table["published_stderr"]),
    }
    for metric in METRICS:
        shown[metric] = score(table[metric], table[f"{metric}_stderr"])
        shown[f"{metric} above by"] = [number(z, "+.1f") for z in table[f"{metric}_z"]]
    return pd.DataFrame(shown)


def write_mmlu_figure(table: pd.DataFrame, pdf: Path, png: Path) -> None:
    """Subjects down, checkpoints and metrics across: how far from the floor, a dot if clearly above."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.lines import Line2D

    table = table.fillna({"variant": ""})  # read from CSV, no variant is no text
    checkpoints = list(dict.fromkeys(zip(table["model"], table["variant"], strict=True)))
    subjects = list(dict.fromkeys(table["subject"]))
    columns = [(*checkpoint, metric) for checkpoint in checkpoints for metric in METRICS]
    cells = table.set_index(["subject", "model", "variant"])
    above, clear = (np.full((len(subjects), len(columns)), np.nan) for _ in range(2))
    for down, subject in enumerate(subjects):
        for across, (model, variant, metric) in enumerate(columns):
            row = cells.loc[(subject, model, variant)]
            above[down, across] = row[metric] - row["floor"]
            clear[down, across] = row[f"{metric}_z"] >= _CLEAR
    # Grey below: how far below the floor a score lies says nothing about what a model knows.
    colours = LinearSegmentedColormap.from_list("floor", ["0.6", "white", PALETTE[0]])
    reach = max(0.1, np.nanmax(np.abs(above), initial=0.0))
    width, height = 3.0 + 0.3 * max(len(columns), 9), 1.7 + 0.15 * len(subjects)
    with figure(width=width, height=height) as (fig, axes):
        mesh = axes.pcolormesh(
            above, cmap=colours, vmin=-reach, vmax=reach, edgecolors="0.85", linewidth=0.4
        )
        for down, across in zip(*np.nonzero(np.isnan(above)), strict=True):
            axes.text(across + 0.5, down + 0.5, "–", ha="center", va="center", fontsize=7)
        downs, acrosses = np.nonzero(clear == 1)
        axes.plot(acrosses + 0.5, downs + 0.5, "o", color="black", markersize=3)
        for at in range(0, len(columns) + 1, len(METRICS)):
            axes.axvline(at, color="black", linewidth=0.8, clip_on=False)
        if len(models := {model for model, _ in checkpoints}) == 1:
            fig.suptitle(*models, fontsize=9)
        axes.axhline(len(_AVERAGES), color="black", linewidth=0.8)
        axes.set_yticks(
            np.arange(len(subjects)) + 0.5,
            [_AVERAGES.get(name, name.replace("_", " ")) for name in subjects],
            fontsize=7,
        )
        axes.set_xticks(np.arange(len(columns)) + 0.5, [c[-1] for c in columns], fontsize=7)
        axes.invert_yaxis()
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        names = axes.secondary_xaxis(1.0)
        names.set_xticks(
            (np.arange(len(checkpoints)) + 0.5) * len(METRICS),
            _labels(checkpoints),
            fontsize=7,
        )
        names.tick_params(length=0, pad=14)
        names.spines[:].set_visible(False)
        bar = fig.colorbar(mesh, ax=axes, location="bottom", aspect=50, pad=0.01, shrink=0.8)
        bar.set_label("score minus floor (white: at the floor)")
        bar.outline.set_visible(False)
        dot = Line2D([], [], color="black", marker="o", markersize=3, linestyle="none")
        fig.legend(
            [dot],
            [f"above the floor by {_CLEAR} standard errors or more"],
            loc="outside lower center",
            handletextpad=0,
        )
        for path, kind in ((pdf, FORMATS[0]), (png, FORMATS[1])):
            save(fig, path, kind)


def _labels(checkpoints: list[tuple[str, str]]) -> list[str]:
    """The model's name over each variant; where there is but one model, the figure's title has it."""
    several = len({model for model, _ in checkpoints}) > 1
    return [
        "\n".join(
            [*(wrap(model.split("/")[-1], _LABEL_WIDTH) if several else ()), variant or "as it is"]
        )
        for model, variant in checkpoints
    ]
