"""Check what the package uses of PyTorch beyond its promises.

- _scaled_dot_product_flash_attention_for_cpu, _efficient_attention_forward, the shape of what
  varlen_attn gives (evaluation/prefix/kernels.py): the log-sum-exps of scores, without which
  parts cannot be put together
- nn.attention.varlen.varlen_attn, which is marked as a prototype; TORCH_CUDNN_SDPA_DEPRIORITIZED
  (training/varlen.py, hub/load.py): packed rows without a mask; no plan for each new shape
- _parameters, _modules, _forward_hooks and their like, _apply (chunked): weights that were moved
  or replaced, and layers with hooks, are noticed
"""

import pytest
import torch

from tests.unit.contracts.names import assert_takes, takes
from workflow_scripts.evaluation.prefix import kernels


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


_OWN = {"causal": True}
_WINDOW = _OWN | {"window": 4}


@pytest.mark.parametrize(
    ("kernel", "how"),
    [
        *((kernels.on_cpu, how) for how in ({}, _OWN)),
        *((gpu, how) for gpu in (kernels.flash, kernels.efficient) for how in ({}, _OWN, _WINDOW)),
    ],
)
def test_attention_of_segments_takes_and_gives_what_it_did(kernel, how):
    """On tensors without contents: names, arguments and the shapes of what comes back."""
    q = torch.zeros(7, 4, 64, device="meta", dtype=torch.bfloat16)
    k, v = torch.zeros(2, 7, 2, 64, device="meta", dtype=torch.bfloat16)
    call = kernels.Call([3, 4], [3, 4], **how, device="meta")
    out, logsum = kernel(q, k, v, call, 0.3, None)
    assert out.shape == q.shape
    assert logsum.shape == q.shape[:2]
    assert logsum.dtype == torch.float32


def test_waiting_for_a_gpu_can_be_made_an_error():
    assert callable(torch.cuda.set_sync_debug_mode) and callable(torch.cuda.get_sync_debug_mode)
    assert issubclass(torch.OutOfMemoryError, RuntimeError)
    assert issubclass(torch.AcceleratorError, RuntimeError)
