"""Test that the cells of a job leave the weights of the model that they share unchanged."""

from tests.cells import make_cell
from tests.unit.grid.test_train_before_test import RECIPE, assert_same
from workflow_scripts.grid.measure_cells import measure_cells
from workflow_scripts.grid.train_before_test import train_before_test

SMALL = RECIPE.model_copy(update={"epochs": 1, "max_training_items": 8})
DATASET = "nyu-mll/glue"
REQUEST = make_cell(
    "sst2", "acc", dataset=DATASET, protocol="train_before_test", recipe=SMALL
).model_copy(update={"seeds": (0, 1)})


def test_job_cells_share_load(world, model_manifest, tmp_path):
    """Compare a job's cell with the same cell alone: fresh adapters do not depend on earlier training runs."""
    dataset = world / f"datasets/{DATASET}/manifest.json"
    cells = REQUEST.split()
    records = [tmp_path / f"{name}.json" for name in cells]
    request, log = REQUEST.to_params(), tmp_path / "log"
    measure_cells(model_manifest, [dataset], records, log, "1", request, {"tries_left": 1})
    path, alone = records[-1], tmp_path / "alone.json"
    train_before_test(model_manifest, world, alone, cells[path.stem])
    assert_same(path, alone)
