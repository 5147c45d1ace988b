"""Score a model on tasks with lm-eval's task definitions, zero-shot or after fine-tuning on each task.

In: the manifests of the model and of the tasks' datasets. Out: a record and its items for each task. The training
states to resume from are hidden files in the folder of the records.
"""

from pathlib import Path
from typing import Any

from workflow_scripts.bridge.job import run_job


def main(
    model: Path,
    data: list[Path],
    records: list[Path],
    log: Path,
    version: str,
    request: dict[str, Any],
    resources: dict[str, Any],
) -> None:
    from workflow_scripts.evaluation.cells import CellsRequest
    from workflow_scripts.grid.job import run_job as measure_all

    cells = CellsRequest.of(request)
    # A killed job leaves this file. The last retry after a kill marks the cells failed without running them.
    running = records[0].with_name(f".{records[0].stem}.running")
    gives_up = resources["tries_left"] == 0 and running.exists()
    running.parent.mkdir(parents=True, exist_ok=True)
    running.touch()
    try:
        measure_all(model, data, records, log, cells, version=version, gives_up=gives_up)
    finally:
        running.unlink(missing_ok=True)


if "snakemake" in globals():
    run_job(main, snakemake)
