"""What the package takes from huggingface_hub beyond what that promises; docs/architecture.md says what for."""

from tests.unit.contracts.names import assert_takes, takes


@takes(
    {
        "huggingface_hub.utils.sha:git_hash": "data",
        "huggingface_hub:parse_local_safetensors_file_metadata": "path",
    }
)
def test_it_takes(name, parameters):
    assert_takes(name, parameters)
