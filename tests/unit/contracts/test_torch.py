"""Check what the package uses of PyTorch beyond its promises.

- nn.attention.varlen.varlen_attn, which is marked as a prototype; TORCH_CUDNN_SDPA_DEPRIORITIZED
  (training/varlen.py, evaluation/prefix/attention.py, hub/load.py): packed rows without a mask; no
  plan for each new shape
- _parameters, _modules, _forward_hooks and their like, _apply (chunked): weights that were moved
  or replaced, and layers with hooks, are noticed
"""

import torch
from torch import nn

from tests.unit.contracts.names import assert_takes, takes


@takes(
    {
        "torch.nn:Module._apply": "fn recurse",
        "torch.nn.attention.varlen:varlen_attn": (
            "query key value cu_seq_q cu_seq_k max_q max_k scale window_size enable_gqa"
        ),
    }
)
def test_it_takes(name, parameters):
    assert_takes(name, parameters)


def test_a_module_has_its_parts_and_hooks_in_dictionaries():
    for name in ("parameters", "modules", "forward_hooks", "forward_pre_hooks", "backward_hooks"):
        assert isinstance(getattr(nn.Linear(1, 1), f"_{name}"), dict)


def test_modules_and_parameters_are_the_ones_that_run():
    outer = nn.Sequential(nn.Linear(1, 1))
    assert outer._modules["0"] is outer[0]
    assert outer[0]._parameters["weight"] is outer[0].weight
    outer[0] = nn.Identity()
    assert outer._modules["0"] is outer[0]


def test_products_of_narrow_numbers_can_be_had_in_float32():
    """On a GPU; without contents here."""
    a, b = torch.zeros(3, 4, 8, device="meta", dtype=torch.bfloat16).split([2, 2], dim=1)
    assert torch.bmm(a, b.mT, out_dtype=torch.float32).dtype == torch.float32


def test_waiting_for_a_gpu_can_be_made_an_error():
    assert callable(torch.cuda.set_sync_debug_mode) and callable(torch.cuda.get_sync_debug_mode)
    assert issubclass(torch.OutOfMemoryError, RuntimeError)
    assert issubclass(torch.AcceleratorError, RuntimeError)
