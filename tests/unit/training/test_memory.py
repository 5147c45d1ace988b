"""Where memory runs out with one sample at a time, gradients are checkpointed."""

import pytest
import torch

from tests.unit.training.small import is_same, make_keys, train_small
from workflow_scripts.core.errors import UserError
from workflow_scripts.training.run import needs_gradient_checkpointing, reduce_memory
from workflow_scripts.training.state import StateFolder


@pytest.mark.parametrize(
    ("micro", "checkpointing", "device", "expected"),
    [(4, "auto", "cuda", 2), (1, "auto", "cuda", 1), (1, "auto", "cpu", None), (1, "yes", "cuda", None)],
)  # fmt: skip
def test_reduce_memory(tmp_path, micro, checkpointing, device, expected):
    state = StateFolder(tmp_path / "state", {})
    keys = make_keys(micro_batch_size=micro, gradient_checkpointing=checkpointing)
    error = torch.OutOfMemoryError("CUDA out of memory.")
    if expected is None:
        with pytest.raises(UserError, match="one sample at a time"):
            reduce_memory(keys, state, device, error)
        return
    reduce_memory(keys, state, device, error)
    assert state.memory["micro_batch_size"] == expected
    assert needs_gradient_checkpointing(keys, state) == (micro == 1)


def test_checkpointing_changes_no_weights(tmp_path):
    keys = {"method": "lora", "lora_rank": 2, "lora_dropout": 0.1, "max_steps": 3}
    plain = train_small(tmp_path / "a", "llama", **keys)
    checkpointed = train_small(tmp_path / "b", "llama", **keys, gradient_checkpointing="yes")
    assert is_same(plain.parameters, checkpointed.parameters)
