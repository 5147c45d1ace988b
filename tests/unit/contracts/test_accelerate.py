"""Check what the package uses of accelerate beyond its promises.

- _hf_hook (chunked/layer_order.py): layers whose inputs it moves are not fused
"""

from accelerate.hooks import ModelHook, add_hook_to_module
from torch import nn


def test_hf_hook_marks_a_module_that_accelerate_moves_inputs_to():
    module = nn.Linear(1, 1)
    assert not hasattr(module, "_hf_hook")
    add_hook_to_module(module, ModelHook())
    assert hasattr(module, "_hf_hook")
