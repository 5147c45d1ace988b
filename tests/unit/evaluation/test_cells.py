"""Test the request of a cell: the config values for this cell."""

import pytest

from tests.unit.settings.merged import merged
from workflow_scripts.evaluation.cells import build_harmony_cells
from workflow_scripts.settings.load import load_settings

HARMONY = {"tasks": ["sst2", "truthfulqa_mc2", "rte"], "max_test_items": 7, "seeds": [3, 5]}


def load(**override):
    return load_settings(merged({"harmony": HARMONY} | override))


@pytest.mark.parametrize(
    ("protocol", "shots", "seeds"),
    [("direct", 0, (0,)), ("few_shot", 5, (0,)), ("train_before_test", 0, (3, 5))],
)
def test_harmony_cells(protocol, shots, seeds):
    request = build_harmony_cells(load(), protocol, ("sst2", "rte"))
    assert request.seeds == seeds and (request.recipe is not None) == (len(seeds) == 2)
    cells = request.split()
    assert list(cells) == ["sst2", "sst2.seed-5", "rte", "rte.seed-5"][:: 3 - len(seeds)]
    task = cells["sst2"].task
    assert (task.shots, task.max_test_items, task.metric) == (shots, 7, "acc")
    # A cell does not depend on the other tasks of its job.
    assert build_harmony_cells(load(), protocol, ("rte",)).split().items() <= cells.items()
