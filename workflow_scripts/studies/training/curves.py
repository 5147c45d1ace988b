"""The losses of all trainings, step by step."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.ids import TUNED, CheckpointId
from workflow_scripts.core.training_record import TrainingRecord, read_training_record
from workflow_scripts.render.figures import drawing, model_colours, rule

_HANDLE, _LETTER = 0.6, 0.085  # inches, in the legend
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
    variants = list(dict.fromkeys(_variant(record) for record in records))
    models = {CheckpointId.parse(variant).model for variant in variants}
    colours = model_colours(variants)
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
        handles, labels = grid[0][0].get_legend_handles_labels()
        if len(models) == 1:  # its name once, and not in front of each variant
            fig.suptitle(*models, fontsize=9)
            labels = [label.removeprefix(*models) for label in labels]
        abreast = width / (_HANDLE + _LETTER * max(map(len, labels)))
        fig.legend(handles, labels, loc="outside lower center", ncols=max(1, int(abreast)))


def _draw(axes, record: TrainingRecord, colour) -> None:
    steps = [entry for entry in record.curve if entry.loss is not None]
    held_out = [entry for entry in record.curve if entry.held_out]
    axes.plot(
        [entry.step for entry in steps],
        [entry.loss for entry in steps],
        color=colour,
        linewidth=0.8,
        alpha=0.6,
    )
    axes.plot(
        [entry.step for entry in held_out],
        [entry.held_out["loss"] for entry in held_out if entry.held_out],
        color=colour,
        marker="o",
        markersize=4,
        linewidth=1.6,
        label=_variant(record),
    )


def _variant(record: TrainingRecord) -> str:
    """Its model and plan, whatever the stage."""
    return str(replace(CheckpointId.parse(record.trained.id), stages=()))


def main(records: list[Path], figure: list[Path]) -> None:
    plot_curves([read_training_record(path) for path in records], *figure)


if "snakemake" in globals():
    run_job(main, snakemake)
