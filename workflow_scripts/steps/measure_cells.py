"""Score a model on tasks with lm-eval's own definitions, as it is or after training on each.

In: the manifests of the model and of the tasks' datasets. Out: a record and the items behind it, for each
task. The states of a training to resume from lie beside the records, hidden.
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
    # A kill leaves this file. A last try after a kill does not try.
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
