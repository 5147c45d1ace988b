"""The losses of all trainings, step by step."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.ids import TUNED, CheckpointId
from workflow_scripts.core.training_record import TrainingRecord, read_training_record
from workflow_scripts.render.figures import drawing, legend_below, pick_model_colours, rule

_STAGES = {
    "cpt": "Continued pre-training",
    "sft": "Supervised fine-tuning",
    TUNED: "Models trained once",
}


def plot_curves(records: Sequence[TrainingRecord], pdf: Path, png: Path) -> None:
    """Plot a panel a stage, a colour a variant: each step's loss thin, the held-out loss in dots."""
    by_stage: dict[str, list[TrainingRecord]] = {}
    for record in records:
        by_stage.setdefault(record.trained.stages[-1].partition(".")[0], []).append(record)
    colours = pick_model_colours(list(dict.fromkeys(map(_variant, records))))
    stages = [stage for stage in _STAGES if stage in by_stage]
    width = 3.4 * len(stages) + 0.4
    with drawing([pdf, png], width, 3.4, ncols=len(stages), squeeze=False) as (fig, grid):
        for axes, stage in zip(grid[0], stages, strict=True):
            for record in by_stage[stage]:
                _draw(axes, record, colours[_variant(record)])
            axes.set_title(_STAGES[stage], fontsize=9)
            axes.set_xlabel("step")
            rule(axes, "both")
        grid[0][0].set_ylabel("loss, nats per token")
        legend_below(fig, grid[0][0], 3)


def _draw(axes, record: TrainingRecord, colour) -> None:
    curve = pd.DataFrame([entry.model_dump() for entry in record.curve])
    steps = curve.dropna(subset="loss")
    axes.plot(steps["step"], steps["loss"], color=colour, linewidth=0.8, alpha=0.6)
    held_out = curve.dropna(subset="held_out")
    losses = held_out["held_out"].str["loss"]
    style = {"color": colour, "marker": "o", "markersize": 4, "linewidth": 1.6}
    axes.plot(held_out["step"], losses, label=_variant(record), **style)


def _variant(record: TrainingRecord) -> str:
    """Its model and plan, whatever the stage."""
    return str(replace(CheckpointId.parse(record.trained.id), stages=()))


def main(records: list[Path], figure: list[Path]) -> None:
    plot_curves([read_training_record(path) for path in records], *figure)


if "snakemake" in globals():
    run_job(main, snakemake)
