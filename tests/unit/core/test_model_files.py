"""Test the selection of a model's files, and counting parameters from safetensors headers."""

import numpy as np
import pytest
from safetensors.numpy import save_file

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.model_files import count_header_parameters, select_model_files

SMALL = {"config.json", "tokenizer.json", "README.md", "chat_template.jinja"}
SHARDS = {f"model-0000{number}-of-00002.safetensors" for number in (1, 2)}
NEVER = {"modeling.py", "pytorch_model.bin", "optimizer.pt", ".hidden.json", "manifest.json"}
NEVER |= {"pytorch_model.bin.index.json", "a/.git/config.json"}


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ({"model.safetensors", "consolidated.safetensors"}, {"model.safetensors"}),
        ({"weights.safetensors"}, {"weights.safetensors"}),
        # Adapters are fetched along with the weights that they change.
        ({"model.safetensors", "adapter_model.safetensors"},) * 2,
        (SHARDS | {"x.safetensors", "model.safetensors.index.json"}, SHARDS | {"model.safetensors.index.json"}),
    ],
)  # fmt: skip
def test_files_taken(weights, expected):
    assert select_model_files(SMALL | NEVER | weights) == SMALL | expected


def test_parameters(tmp_path):
    tensors = {"a": np.zeros((3, 5)), "b": np.zeros(()), "c": np.zeros((7, 0))}
    save_file(tensors, tmp_path / "x.safetensors", metadata={"format": "pt"})
    assert count_header_parameters(tmp_path / "x.safetensors") == 15 + 1 + 0


def test_parameters_damaged_file(tmp_path):
    (tmp_path / "x.safetensors").write_bytes(b"version https://git-lfs")
    with pytest.raises(UserError, match=r"x\.safetensors is not a safetensors file \("):
        count_header_parameters(tmp_path / "x.safetensors")
