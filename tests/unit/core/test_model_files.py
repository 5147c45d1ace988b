"""What is taken of a model's files, and what their headers tell."""

import json
import struct

import pytest

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.model_files import files_taken, parameters_of

SMALL = {"config.json", "tokenizer.json", "README.md", "chat_template.jinja"}
SHARDS = {f"model-0000{number}-of-00002.safetensors" for number in (1, 2)}
NEVER = {"modeling.py", "pytorch_model.bin", "optimizer.pt", ".hidden.json", "manifest.json"}


@pytest.mark.parametrize(
    ("weights", "taken"),
    [
        ({"model.safetensors"}, {"model.safetensors"}),
        ({"model.safetensors", "consolidated.safetensors"}, {"model.safetensors"}),
        ({"weights.safetensors"}, {"weights.safetensors"}),
        # Adapters lie beside the weights that they change.
        ({"model.safetensors", "adapter_model.safetensors"}, {"model.safetensors", "adapter_model.safetensors"}),
        (SHARDS | {"x.safetensors"}, SHARDS),
    ],
)  # fmt: skip
def test_weights_as_transformers_loads_them_and_small_files_are_taken(weights, taken):
    assert files_taken(SMALL | NEVER | weights) == SMALL | taken


def test_an_index_is_taken_of_safetensors_alone():
    indices = {"model.safetensors.index.json", "pytorch_model.bin.index.json"}
    assert files_taken(indices) == {"model.safetensors.index.json"}


def put(path, header, length=None):
    head = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(head) if length is None else length) + head)
    return path


def test_parameters_are_counted_in_the_header(tmp_path):
    tensor = {"dtype": "F32", "data_offsets": [0, 0]}
    header = {"__metadata__": {"format": "pt"}, "a": tensor | {"shape": [3, 5]}}
    header |= {"b": tensor | {"shape": []}, "c": tensor | {"shape": [7, 0]}}
    assert parameters_of(put(tmp_path / "x.safetensors", header)) == 15 + 1 + 0


@pytest.mark.parametrize(
    "content", [b"", b"version https://git-lfs", struct.pack("<Q", 2**60), b"\2\0\0\0\0\0\0\0[]"]
)
def test_what_is_no_safetensors_file_is_a_sentence(tmp_path, content):
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"x\.safetensors is not a safetensors file \("):
        parameters_of(path)
