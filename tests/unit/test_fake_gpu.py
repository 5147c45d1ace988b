"""Test the shapes of GPU code on the meta device, which computes nothing."""

import pytest
import torch

from tests.tiny_models import VOCABULARY, make_tiny_model


@pytest.mark.parametrize("kind", ["qwen2", "gpt_neox", "fused", "loop"])
def test_model_forward_and_backward(kind):
    model = make_tiny_model(kind).to("meta")
    ids = torch.zeros(2, 9, dtype=torch.long, device="meta")
    out = model(ids, labels=ids)
    assert out.logits.shape == (2, 9, VOCABULARY)
    out.loss.backward()
    assert all(parameter.grad.shape == parameter.shape for parameter in model.parameters())
