"""What the package takes from PyTorch's modules beyond what that promises; docs/architecture.md says what for."""

import pytest
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


@pytest.mark.parametrize(
    "name",
    [
        *("_parameters", "_modules", "_forward_hooks", "_forward_pre_hooks", "_backward_hooks"),
    ],
)
def test_a_module_has(name):
    assert isinstance(getattr(nn.Linear(1, 1), name), dict)


def test_modules_and_parameters_are_the_ones_that_run():
    outer = nn.Sequential(nn.Linear(1, 1))
    assert outer._modules["0"] is outer[0]
    assert outer[0]._parameters["weight"] is outer[0].weight
    outer[0] = nn.Identity()
    assert outer._modules["0"] is outer[0]
