"""Train a checkpoint through one stage; after a kill or a signal the same job resumes where it stopped.

In: the manifest of the stage before, and the recipe's samples. Out: the checkpoint's
 manifest, written after its files, and its training record. The state to resume from lies beside, hidden.
"""

from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import run_job


def main(
    base: Path,
    samples: Path,
    manifest: Path,
    record: Path,
    version: str,
    request: dict[str, Any],
) -> None:
    from workflow_scripts.core.finished import finish_once
    from workflow_scripts.training.checkpoint_stage import check_stage, state_beside, train_stage
    from workflow_scripts.training.requests import StageRequest
    from workflow_scripts.training.side_by_side import train_side_by_side

    stage, folder = StageRequest.of(request), manifest.parent
    paths = {"base_manifest": base, "samples_summary": samples, "folder": folder}
    paths["record_path"] = record

    def work() -> None:
        if stage.keys.gpus == 1:
            train_stage(**paths, request=stage)
        else:
            train_side_by_side(paths, stage)

    finish_once(
        work,
        inputs=[base, samples],
        outputs=[manifest, record],
        version=version,
        request=request,
        sound=lambda: check_stage(folder, record),
        state=state_beside(folder),
    )


if "snakemake" in globals():
    run_job(main, snakemake)
