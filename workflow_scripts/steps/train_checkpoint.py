"""Train a checkpoint through one stage; an interrupted job resumes where it stopped.

In: the manifest of the previous stage, and the recipe's samples. Out: the checkpoint's manifest, written after its
files, and its training record. The state to resume from is in a hidden folder next to the outputs.
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
    from workflow_scripts.core.files import hash_file
    from workflow_scripts.core.output_cache import OutputCache
    from workflow_scripts.training.checkpoint_stage import (
        check_stage,
        get_checkpoint_state,
        train_stage,
    )
    from workflow_scripts.training.requests import StageRequest

    stage, folder = StageRequest.model_validate(request), manifest.parent
    cache = OutputCache(
        outputs=[manifest, record],
        key=[hash_file(base), hash_file(samples), request],
        validate=lambda: check_stage(folder, record),
        states=[get_checkpoint_state(folder)],
        version=version,
    )
    cache.run(lambda: train_stage(base, samples, folder, record, stage))


if "snakemake" in globals():
    run_job(main, snakemake)
