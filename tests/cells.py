"""Build the request of a cell for tests."""

from workflow_scripts.evaluation.cells import CellsRequest, TaskRequest
from workflow_scripts.settings.compute import Compute


def make_cell(
    task: str,
    metric: str,
    *,
    shots: int = 0,
    max_test_items: int | None = None,
    seed: int = 0,
    batch_size: int = 8,
    dataset: str = "org/any",
    **more,
) -> CellsRequest:
    request = TaskRequest(
        harness_task=task,
        metric=metric,
        dataset=dataset,
        shots=shots,
        max_test_items=max_test_items,
    )
    compute = Compute(device="cpu", dtype="float32", batch_size=batch_size)
    keys = {"study": "harmony", "protocol": "direct", "compute": compute, **more}
    return CellsRequest(tasks={task: request}, seeds=(seed,), **keys)
