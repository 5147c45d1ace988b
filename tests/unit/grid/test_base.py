"""One model for all cells of a job, which leave its weights as they were loaded."""

import pytest

from tests.cells import make_cell
from tests.unit.grid.test_train_before_test import RECIPE
from workflow_scripts.core.records import read_complete_record
from workflow_scripts.evaluation.cells import CellsRequest
from workflow_scripts.grid import base as module
from workflow_scripts.grid.job import run_job
from workflow_scripts.grid.train_before_test import train_before_test
from workflow_scripts.hub.load import load_model

SMALL = RECIPE.model_copy(update={"epochs": 1, "max_training_items": 8})
TASKS = {"sst2": "acc", "openbookqa": "acc_norm"}
DATASETS = {"sst2": "nyu-mll/glue", "openbookqa": "allenai/openbookqa"}


@pytest.fixture
def loads(monkeypatch):
    """Record the dtype of each load."""
    dtypes = []

    def record_load(manifest_path, *, dtype, **options):
        dtypes.append(dtype)
        return load_model(manifest_path, dtype=dtype, **options)

    monkeypatch.setattr(module, "load_model", record_load)
    return dtypes


def make_request(*tasks: str) -> CellsRequest:
    requests = [
        make_cell(task, TASKS[task], protocol="train_before_test", recipe=SMALL) for task in tasks
    ]
    merged = {
        name: task.model_copy(update={"dataset": DATASETS[name]})
        for request in requests
        for name, task in request.tasks.items()
    }
    return requests[0].model_copy(update={"tasks": merged})


def test_job_cells_share_load(world, model_manifest, tmp_path, loads):
    """Compare a job's cell with the same cell alone: each has fresh adapters, whatever was trained before it."""
    datasets = [world / f"datasets/{name}/manifest.json" for name in DATASETS.values()]
    request = make_request(*TASKS)
    records = [tmp_path / f"{name}.json" for name in request.cells()]
    run_job(model_manifest, datasets, records, tmp_path / "log", request, version="1")
    assert loads == ["float32"]
    path = records[-1]
    shared, lone_path = read_complete_record(path), tmp_path / "alone" / path.name
    train_before_test(model_manifest, world, lone_path, make_request(list(TASKS)[-1]))
    assert read_complete_record(lone_path).training == shared.training
    assert read_complete_record(lone_path).metrics == shared.metrics
    assert (
        lone_path.with_suffix(".parquet").read_bytes() == path.with_suffix(".parquet").read_bytes()
    )
