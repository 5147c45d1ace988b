"""Score a model on tasks with lm-eval's task definitions, zero-shot, few-shot or after fine-tuning on each task.

In: the manifests of the model and of the tasks' datasets. Out: a record and its items for each task. The training
states to resume from are hidden files in the folder of the records.
"""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.evaluation.cells import CellsRequest
from workflow_scripts.evaluation.direct import evaluate_direct
from workflow_scripts.grid.cells import GridCell, mark_failed, run_cells
from workflow_scripts.hub.load import load_model
from workflow_scripts.hub.manifest import get_hub_folder, read_manifest


@validate_call
def measure_cells(
    model: Path,
    data: list[Path],
    records: list[Path],
    log: Path,
    version: str,
    request: CellsRequest,
    resources: dict[str, Any],
) -> None:
    """Measure each cell and write its record; the last try after a kill marks unfinished cells as failed."""
    manifest = read_manifest(model)
    print(manifest.repository, flush=True)
    model_key = {"model": manifest.commit}
    if delta_base := request.get_base_manifest(model):
        model_key["added to"] = read_manifest(delta_base).commit
    commits = {dataset.repository: dataset.commit for dataset in map(read_manifest, data)}
    requests = request.split()

    def build_cell(record: Path) -> GridCell:
        cell = requests[record.stem]
        cell_key = {"dataset": commits[cell.task.dataset], "request": cell.to_params()}
        return GridCell(record, model_key | cell_key, log, version)

    cells = [build_cell(record) for record in records]
    running = records[0].with_name(f".{records[0].stem}.running")  # a killed job leaves this file
    was_always_killed = resources["tries_left"] == 0 and running.exists()
    running.parent.mkdir(parents=True, exist_ok=True)
    running.touch()
    try:
        if was_always_killed:
            mark_failed(cells)
        else:
            measure = _choose_measure(model, request)
            hub = get_hub_folder(data)
            run_cells(cells, lambda cell: measure(model, hub, cell.record, requests[cell.name]))
    finally:
        running.unlink(missing_ok=True)


def _choose_measure(model: Path, job: CellsRequest) -> Callable[..., Any]:
    """Return the function that measures a cell; it loads the model once for all cells."""
    if job.protocol != "train_before_test":
        return partial(evaluate_direct, load=cache(load_model))
    from workflow_scripts.grid.shared_model import SharedModel
    from workflow_scripts.grid.train_before_test import train_before_test

    return partial(train_before_test, shared_model=SharedModel(model, job.compute))


if "snakemake" in globals():
    run_job(measure_cells, snakemake)
