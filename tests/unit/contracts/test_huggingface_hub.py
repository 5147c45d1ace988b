"""Check what the package uses of huggingface_hub beyond its promises.

- http_get, http_backoff, ModelInfo made of an answer (hub/download.py, hub/remote.py): a download
  resumes where a killed process stopped; a listing is asked for patiently
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
