"""Check what the package uses of datasets beyond its promises.

- load_dataset, replaced in every module that holds it, and load.dataset_module_factory
  (hub/mirror.py): harnesses read the hub folder by the names they know, and look into it once
"""

import datasets

from tests.unit.contracts.names import assert_takes, takes
from workflow_scripts.hub.mirror import mirror


@takes({"datasets:load_dataset": "path name cache_dir split"})
def test_it_takes(name, parameters):
    assert_takes(name, parameters)


def test_mirror_replaces_load_dataset_wherever_the_name_was_taken_to(world):
    """Modules hold the function itself, found by their __dict__; afterwards all is as it was."""
    import lm_eval.api.task  # calls datasets.load_dataset

    original, look = datasets.load_dataset, datasets.load.dataset_module_factory
    with mirror(world):
        assert datasets.load_dataset is not original
        assert lm_eval.api.task.datasets.load_dataset is datasets.load_dataset
        assert datasets.load.load_dataset is datasets.load_dataset
    assert datasets.load_dataset is datasets.load.load_dataset is original
    assert datasets.load.dataset_module_factory is look
