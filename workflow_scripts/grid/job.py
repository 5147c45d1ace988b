"""Run one job of the grid: one model and protocol, and one or several tasks."""

from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

from workflow_scripts.evaluation.cells import CellsRequest
from workflow_scripts.evaluation.direct import evaluate_direct
from workflow_scripts.grid.cells import GridCell, mark_failed, run_cells
from workflow_scripts.hub.load import load_model
from workflow_scripts.hub.manifest import get_hub_folder, read_manifest


def run_job(
    model: Path,
    datasets: list[Path],
    records: Iterable[Path],
    log: Path,
    request: CellsRequest,
    *,
    version: str,
    gives_up: bool = False,
) -> None:
    """Measure each cell and write its record.

    With `gives_up`, mark all unfinished cells as failed, so that the tables of the other cells can be made.
    """
    base = read_manifest(model)
    print(base.repository, flush=True)
    decides: dict[str, Any] = {"model": base.commit}
    if added_to := request.base_manifest(model):
        decides["added to"] = read_manifest(added_to).commit
    manifests = map(read_manifest, datasets)
    commits = {manifest.repository: manifest.commit for manifest in manifests}
    requests = request.cells()

    def get_cell(record: Path) -> GridCell:
        request = requests[record.stem]
        own = {"dataset": commits[request.task.dataset], "request": request.to_params()}
        return GridCell(record, decides | own, log, version)

    cells = [get_cell(record) for record in records]
    if gives_up:
        mark_failed(cells)
        return
    if request.protocol == "train_before_test":
        from workflow_scripts.grid.base import Base
        from workflow_scripts.grid.train_before_test import train_before_test

        shared = Base(model, request.compute)
        measure: Callable[..., Any] = partial(train_before_test, base=shared)
    else:
        measure = partial(evaluate_direct, load=cache(load_model))  # load once for all tasks
    hub = get_hub_folder(datasets[0])
    run_cells(cells, lambda cell: measure(model, hub, cell.record, requests[cell.name]))
