"""Train one stage of a checkpoint; after a kill or a signal the same job resumes where it stopped.

In: the manifest of the stage before, and the recipe's samples. Out: the checkpoint's manifest, written
after its files, and the training record. The state to resume from lies beside the checkpoint, hidden.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(paths: dict[str, Path], version: str, request: dict) -> None:
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


if "snakemake" in globals():
    with step(snakemake):
        main(
            {
                "base_manifest": Path(snakemake.input.base),
                "samples_summary": Path(snakemake.input.samples),
                "folder": Path(snakemake.output.manifest).parent,
                "record_path": Path(snakemake.output.record),
            },
            snakemake.params.version,
            snakemake.params.request,
        )
