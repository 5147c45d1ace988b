"""One model for all cells of a job: its weights stay as they were loaded, and nothing of a cell stays."""

import pytest

from tests.cells import cell
from tests.unit.grid.test_train_before_test import RECIPE
from workflow_scripts.core.records import read_complete_record
from workflow_scripts.evaluation.cells import CellsRequest
from workflow_scripts.grid import base as module
from workflow_scripts.grid.base import Base
from workflow_scripts.grid.job import run_job
from workflow_scripts.grid.train_before_test import train_before_test
from workflow_scripts.hub.load import load_model
from workflow_scripts.settings.compute import Compute

SMALL = RECIPE.model_copy(update={"epochs": 1, "max_training_items": 8})
TASKS = {"sst2": "acc", "openbookqa": "acc_norm"}
DATASETS = {"sst2": "nyu-mll/glue", "openbookqa": "allenai/openbookqa"}


@pytest.fixture
def loads(monkeypatch):
    """Of each load, the number format it was asked in."""
    seen = []

    def spy(manifest_path, *, dtype, **options):
        seen.append(dtype)
        return load_model(manifest_path, dtype=dtype, **options)

    monkeypatch.setattr(module, "load_model", spy)
    return seen


def asked_of(*tasks: str, recipe=SMALL) -> CellsRequest:
    one = [cell(task, TASKS[task], protocol="train_before_test", recipe=recipe) for task in tasks]
    together = {
        name: asked.model_copy(update={"dataset": DATASETS[name]})
        for request in one
        for name, asked in request.tasks.items()
    }
    return one[0].model_copy(update={"tasks": together})


def test_cells_of_a_job_share_a_load_and_come_out_as_they_do_alone(
    world, model_manifest, tmp_path, loads
):
    """Through the job; each with fresh adapters, whatever was trained before it."""
    datasets = [world / f"datasets/{name}/manifest.json" for name in DATASETS.values()]
    asked = asked_of(*TASKS)
    records = [tmp_path / f"{name}.json" for name in asked.cells()]
    run_job(model_manifest, datasets, records, tmp_path / "log", asked, version="1")
    assert loads == ["float32"]
    for record in records:
        together = read_complete_record(record)
        (name,) = (task for task in TASKS if record.stem.startswith(task))
        alone = tmp_path / f"alone/{record.name}"
        train_before_test(model_manifest, world, alone, asked_of(name))
        assert read_complete_record(alone).training == together.training
        assert read_complete_record(alone).metrics == together.metrics
        assert alone.with_suffix(".parquet").read_bytes() == record.with_suffix(".parquet").read_bytes()  # fmt: skip


def test_weights_that_are_trained_are_loaded_again(world, model_manifest, tmp_path, loads):
    """Once for the training and once for the test, and the next cell finds nothing of it."""
    base = Base.of(model_manifest, Compute(device="cpu"))
    recipe = SMALL.model_copy(update={"method": "full"})
    for at in range(2):
        asked = asked_of("sst2", recipe=recipe)
        train_before_test(model_manifest, world, tmp_path / f"{at}.json", asked, base=base)
    assert len(loads) == 4
    one, other = ((tmp_path / f"{at}.parquet").read_bytes() for at in range(2))
    assert one == other
