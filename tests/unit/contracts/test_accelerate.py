"""What the package takes from accelerate beyond what that promises; docs/architecture.md says what for."""

import inspect

import pytest
from accelerate import Accelerator
from accelerate.hooks import ModelHook, add_hook_to_module
from accelerate.utils.memory import should_reduce_batch_size
from torch import nn


def test_hf_hook_marks_a_module_that_accelerate_moves_inputs_to():
    module = nn.Linear(1, 1)
    assert not hasattr(module, "_hf_hook")
    add_hook_to_module(module, ModelHook())
    assert hasattr(module, "_hf_hook")


@pytest.mark.parametrize(
    ("error", "out_of_memory"),
    [
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), True),
        (RuntimeError("shapes differ"), False),
    ],
    ids=str,
)
def test_should_reduce_batch_size(error, out_of_memory):
    assert should_reduce_batch_size(error) is out_of_memory


@pytest.mark.parametrize("name", ["reduce", "num_processes", "process_index"])
def test_an_accelerator_has(name):
    assert inspect.getattr_static(Accelerator, name)
