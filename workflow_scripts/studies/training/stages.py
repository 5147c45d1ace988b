"""Tabulate the perplexity before and after each training stage, and plot the loss of each training run."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.training_record import TrainingRecord, read_training_record
from workflow_scripts.render.figures import (
    draw_grid_lines,
    draw_legend_below,
    open_figure,
    pick_model_colours,
)
from workflow_scripts.render.tables import write_table

NOTE = (
    "Perplexity ± standard error on wikitext's validation text and on Magpie's responses (difficulty in brackets);"
    " lower is better. Trained: parameters that the stage trains. Held out: loss of the stage's own held-out samples,"
    " in nats per token, at the selected state."
)
UNTRAINED = "untrained"  # stage of an untrained checkpoint
_NUMBERS = dict.fromkeys(["trained_parameters", "steps", "tokens"], "Int64")
_NUMBERS |= {"held_out_loss": "float64"}


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
    trained = {record.trained.id: _describe_training(record) for record in records}
    ids = [CheckpointId.parse(name) for name in checkpoints]
    rows = [
        {"model": id.model, "variant": id.variant or None, "stage": (id.stages or [UNTRAINED])[-1]}
        | trained.get(str(id), {})
        for id in ids
    ]
    table = pd.DataFrame(rows, checkpoints, ["model", "variant", "stage", "recipe", *_NUMBERS])
    scores = scores[scores["metric"] == "perplexity"]
    scores = scores.assign(text=name_texts(scores)).set_index(scores["model"] + scores["variant"])
    for text in texts:  # a failed cell gives missing values
        measured = scores[scores["text"] == text].reindex(table.index)
        table[text], table[f"{text} stderr"] = measured["value"], measured["stderr"]
    return table.astype(_NUMBERS).reset_index(drop=True)


def _describe_training(record: TrainingRecord) -> dict[str, Any]:
    """Return the columns of the table that are about the training of a stage."""
    losses = {step.step: step.held_out["loss"] for step in record.curve if step.held_out}
    return {
        "recipe": record.recipe,
        "trained_parameters": record.report["trained_parameters"],
        "steps": record.facts["steps"],
        "tokens": record.facts["tokens"],
        # The selected state may be earlier than the last.
        "held_out_loss": losses.get(record.selected["step"]),
    }


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
    colours = pick_model_colours(str(replace(id, stages=())) for id in ids)
    stages = [id.stages[-1].partition(".")[0] for id in ids]
    subplots = {"ncols": len(set(stages)), "squeeze": False}
    with open_figure(files, 3.4 * len(set(stages)) + 0.4, 3.4, **subplots) as (fig, axes):
        panels = dict(zip(dict.fromkeys(stages), axes[0], strict=True))
        for stage, id, record in zip(stages, ids, records, strict=True):
            name = str(replace(id, stages=()))
            curve = pd.DataFrame([step.model_dump() for step in record.curve]).set_index("step")
            panel = panels[stage]
            colour = colours[name]
            panel.plot(curve["loss"].dropna(), linewidth=0.8, alpha=0.6, color=colour)
            held_out = curve["held_out"].dropna().str["loss"]
            panel.plot(held_out, marker="o", markersize=4, label=name, color=colour)
        for stage, panel in panels.items():
            panel.set_title(stage, fontsize=9)
            panel.set_xlabel("step")
            draw_grid_lines(panel, "both")
        axes[0][0].set_ylabel("loss, nats per token")
        draw_legend_below(fig, axes[0][0], 2)


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
