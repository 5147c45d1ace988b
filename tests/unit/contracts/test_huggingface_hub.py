"""Check what the package uses of huggingface_hub beyond its promises.

- git_hash (hub/hub_api.py): small files are held against the checksums of the hub
"""

from tests.unit.contracts.names import assert_takes, takes


@takes(
    {
        "huggingface_hub.utils.sha:git_hash": "data",
        "huggingface_hub:parse_local_safetensors_file_metadata": "path",
    }
)
def test_it_takes(name, parameters):
    assert_takes(name, parameters)
