"""Check what the package uses of datasets beyond its promises.

- load.dataset_module_factory, which load_dataset calls by its name in the module, the hash in what it returns, and
  config.HF_DATASETS_CACHE (hub/mirror.py): harnesses read the hub folder by the names they know
"""

import datasets

from tests.unit.contracts.names import assert_takes, takes
from workflow_scripts.hub.mirror import mirror


@takes({"datasets:load_dataset": "path name split", "datasets.load:dataset_module_factory": "path"})
def test_it_takes(name, parameters):
    assert_takes(name, parameters)


def test_mirror_prepares_datasets_of_the_hub_folder_in_a_cache_of_its_own(world):
    """Two of the same last name are apart there; afterwards all is as it was."""
    factory, cache = datasets.load.dataset_module_factory, datasets.config.HF_DATASETS_CACHE
    names = {"cais/mmlu", "lighteval/mmlu"}
    with mirror(world) as manifests:
        tables = {
            datasets.load_dataset(name, "all", split="dev").cache_files[0]["filename"]
            for name in names
        }
        assert len(tables) == 2 and set(manifests) == names
        with mirror(world) as inner:
            again = datasets.load_dataset("cais/mmlu", "all", split="dev")
        assert again.cache_files[0]["filename"] in tables and set(inner) == {"cais/mmlu"}
    assert datasets.load.dataset_module_factory is factory
    assert datasets.config.HF_DATASETS_CACHE is cache
    assert not any(path.startswith(str(cache)) for path in tables)
