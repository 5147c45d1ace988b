"""Train checkpoints, each through one stage; after a kill or a signal the same job resumes where it stopped.

In: the manifests of the stages before, but for those that it makes itself, and the recipes' samples. Out:
each checkpoint's manifest, written after its files, and its training record. The state to resume from lies
beside the checkpoint, hidden.
"""

from functools import partial
from pathlib import Path

from workflow_scripts.bridge.step import step


def train(paths: dict[str, Path], version: str, request: dict) -> None:
    from workflow_scripts.core.finished import finish_once
    from workflow_scripts.settings.training import StageRequest
    from workflow_scripts.training.checkpoint_stage import check_stage, state_beside, train_stage
    from workflow_scripts.training.processes import train_side_by_side

    asked = StageRequest.of(request)

    def work() -> None:
        if asked.keys.gpus == 1:
            train_stage(**paths, asked=asked)
        else:
            train_side_by_side(paths, asked)

    folder, record = paths["folder"], paths["record_path"]
    finish_once(
        work,
        inputs=[paths["base_manifest"], paths["samples_summary"]],
        outputs=[folder / "manifest.json", record],
        decides=[version, request],
        sound=lambda: check_stage(folder, record),
        way=state_beside(folder),
    )


def main(stages: list[dict], manifests: list[Path], records: list[Path], version: str) -> None:
    """In this order, in which a stage comes behind the one before it."""
    from workflow_scripts.core.in_turn import in_turn

    works = []
    for stage, manifest, record in zip(stages, manifests, records, strict=True):
        paths = {
            "base_manifest": Path(stage["before"]),
            "samples_summary": Path(stage["samples"]),
            "folder": manifest.parent,
            "record_path": record,
        }
        works.append((manifest.parent, partial(train, paths, version, stage["request"])))
    in_turn(works)


if "snakemake" in globals():
    with step(snakemake):
        stages, made = snakemake.params.stages, [Path(path) for path in snakemake.output]
        main(stages, made[: len(stages)], made[len(stages) :], snakemake.params.version)
