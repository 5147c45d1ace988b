"""Shapes of what runs on a GPU, on the device meta, where nothing is computed."""

import pytest
import torch

from tests.tiny_models import VOCABULARY, tiny_model
from workflow_scripts.evaluation.prefix import kernels

ROWS, KEYS = [3, 1, 4], [5, 9, 7]


@pytest.mark.parametrize("kind", ["qwen2", "gpt_neox", "fused", "loop"])
def test_model_forward_and_backward(kind):
    model = tiny_model(kind).to("meta")
    ids = torch.zeros(2, 9, dtype=torch.long, device="meta")
    out = model(ids, labels=ids)
    assert out.logits.shape == (2, 9, VOCABULARY)
    out.loss.backward()
    assert all(parameter.grad.shape == parameter.shape for parameter in model.parameters())


@pytest.mark.parametrize("kernel", [kernels.plain, kernels.efficient])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_segments(kernel, dtype, causal):
    q, k, v = (
        torch.empty(sum(lengths), heads, 16, dtype=dtype, device="meta")
        for lengths, heads in ((ROWS, 4), (KEYS, 2), (KEYS, 2))
    )
    out, logsum = kernel(q, k, v, kernels.Call(ROWS, KEYS, causal, device="meta"), 0.25, None)
    assert out.shape == (sum(ROWS), 4, 16)
    assert logsum.shape == (sum(ROWS), 4)
