"""Tabulate the perplexity before and after each training stage, and plot the loss of each training run."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.ids import TUNED, CheckpointId
from workflow_scripts.core.training_record import TrainingRecord, read_training_record
from workflow_scripts.render.figures import draw_legend_below, drawing, pick_model_colours, rule
from workflow_scripts.render.tables import write_table

NOTE = (
    "Perplexity ± standard error on wikitext's validation text and on Magpie's responses (difficulty in brackets);"
    " lower is better. Trained: parameters that the stage trains. Held out: loss of the stage's own held-out samples,"
    " in nats per token, at the selected state."
)
UNTRAINED = "untrained"  # stage of an untrained checkpoint
_TITLES = {
    "cpt": "Continued pre-training",
    "sft": "Supervised fine-tuning",
    TUNED: "Models trained once",
}
_INTEGERS = ["trained_parameters", "steps", "tokens"]


def name_texts(rows: pd.DataFrame) -> pd.Series:
    """Return the text name of each row; each difficulty of a task is a separate text, `magpie (easy)`."""
    return rows["task"] + (" (" + rows["difficulty"] + ")").fillna("")


def compute_stages(
    scores: pd.DataFrame,
    records: Sequence[TrainingRecord],
    checkpoints: Sequence[str],
    texts: Sequence[str],
) -> pd.DataFrame:
    """Compute a row for each checkpoint, with its perplexity and standard error on each text."""
    trained = {record.trained.id: record for record in records}
    rows = []
    for name in checkpoints:
        id = CheckpointId.parse(name)
        row: dict[str, Any] = {"model": id.model, "variant": id.variant or None}
        row["stage"] = id.stages[-1] if id.stages else UNTRAINED
        record = trained.get(name)
        row |= dict.fromkeys(["recipe", *_INTEGERS, "held_out_loss"])
        if record is not None:
            losses = {step.step: step.held_out["loss"] for step in record.curve if step.held_out}
            row |= {
                "recipe": record.recipe,
                "trained_parameters": record.report["trained_parameters"],
                "steps": record.facts["steps"],
                "tokens": record.facts["tokens"],
                # The selected state may be earlier than the last.
                "held_out_loss": losses.get(record.selected["step"]),
            }
        rows.append(row)
    table = pd.DataFrame(rows, index=checkpoints)
    scores = scores[scores["metric"] == "perplexity"]
    names, ids = name_texts(scores), scores["model"] + scores["variant"]
    for text in texts:  # a failed cell gives missing values
        measured = scores[names == text].set_index(ids[names == text]).reindex(table.index)
        table[text], table[f"{text} stderr"] = measured["value"], measured["stderr"]
    numeric = dict.fromkeys(_INTEGERS, "Int64") | {"held_out_loss": "float64"}
    return table.astype(numeric).reset_index(drop=True)


_SHOWN = {
    "Model": "{model}",
    "Variant": "{variant}",
    "Recipe": "{recipe}",
    "Trained": "{trained_parameters:,d}",
    "Steps": "{steps:,d}",
    "Tokens": "{tokens:,d}",
    "Held out": "{held_out_loss:.3f}",
}


def plot_curves(records: Sequence[TrainingRecord], files: Sequence[Path]) -> None:
    """Plot a panel per stage and a colour per variant; training loss as a thin line, held-out loss with dots."""
    ids = [CheckpointId.parse(record.trained.id) for record in records]
    names = [str(replace(id, stages=())) for id in ids]
    stages = [id.stages[-1].partition(".")[0] for id in ids]
    colours = pick_model_colours(names)
    titles = {stage: title for stage, title in _TITLES.items() if stage in stages}
    grid = {"ncols": len(titles), "squeeze": False}
    with drawing(files, 3.4 * len(titles) + 0.4, 3.4, **grid) as (fig, axes):
        panels = dict(zip(titles, axes[0], strict=True))
        for stage, title in titles.items():
            panels[stage].set_title(title, fontsize=9)
            panels[stage].set_xlabel("step")
            rule(panels[stage], "both")
        for stage, name, record in zip(stages, names, records, strict=True):
            curve = pd.DataFrame([step.model_dump() for step in record.curve]).set_index("step")
            style = {"color": colours[name]}
            panels[stage].plot(curve["loss"].dropna(), linewidth=0.8, alpha=0.6, **style)
            held_out = curve["held_out"].dropna().str["loss"]
            panels[stage].plot(held_out, marker="o", markersize=4, label=name, **style)
        axes[0][0].set_ylabel("loss, nats per token")
        draw_legend_below(fig, axes[0][0], 3)


def main(
    scores: Path,
    records: list[Path],
    table: list[Path],
    figure: list[Path],
    checkpoints: Sequence[str],
    texts: Sequence[str],
) -> None:
    """Write the table and the figure."""
    trained = [read_training_record(path) for path in records]
    stages = compute_stages(pd.read_parquet(scores), trained, checkpoints, texts)
    title = "Perplexity after each stage of training"
    shown = _SHOWN | {
        text.capitalize(): f"{{{text}:perplexity}} ± {{{text} stderr:perplexity}}" for text in texts
    }
    write_table(stages, table, title=title, note=NOTE, shown=shown)
    plot_curves(trained, figure)


if "snakemake" in globals():
    run_job(main, snakemake)
