"""Plot the losses of all training runs, step by step."""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.ids import TUNED, CheckpointId
from workflow_scripts.core.training_record import read_training_record
from workflow_scripts.render.figures import draw_legend_below, drawing, pick_model_colours, rule

_TITLES = {
    "cpt": "Continued pre-training",
    "sft": "Supervised fine-tuning",
    TUNED: "Models trained once",
}


def main(records: list[Path], figure: list[Path]) -> None:
    """Plot a panel for each stage, a colour for each variant: each step's loss thin, the held-out loss in dots."""
    curves = []
    for path in records:
        record = read_training_record(path)
        checkpoint = CheckpointId.parse(record.trained.id)
        curve = pd.DataFrame([step.model_dump() for step in record.curve])
        stage = checkpoint.stages[-1].partition(".")[0]
        curves.append((stage, str(replace(checkpoint, stages=())), curve))
    colours = pick_model_colours(list(dict.fromkeys(name for _, name, _ in curves)))
    stages = [stage for stage in _TITLES if stage in {stage for stage, _, _ in curves}]
    width = 3.4 * len(stages) + 0.4
    with drawing(figure, width, 3.4, ncols=len(stages), squeeze=False) as (fig, grid):
        panels = dict(zip(stages, grid[0], strict=True))
        for stage, axes in panels.items():
            axes.set_title(_TITLES[stage], fontsize=9)
            axes.set_xlabel("step")
            rule(axes, "both")
        for stage, name, curve in curves:
            style = {"color": colours[name]}
            steps = curve.dropna(subset="loss")
            panels[stage].plot(steps["step"], steps["loss"], linewidth=0.8, alpha=0.6, **style)
            held_out = curve.dropna(subset="held_out")
            style |= {"marker": "o", "markersize": 4, "linewidth": 1.6, "label": name}
            panels[stage].plot(held_out["step"], held_out["held_out"].str["loss"], **style)
        grid[0][0].set_ylabel("loss, nats per token")
        draw_legend_below(fig, grid[0][0], 3)


if "snakemake" in globals():
    run_job(main, snakemake)
