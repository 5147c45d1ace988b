"""Test that packed rows have the loss and gradients of padded batches, and that samples do not attend to others."""

import pytest
import torch
import torch.nn.functional as F

from tests.tiny_models import make_tiny_model
from tests.unit.training.tiny_training import make_keys, make_model, make_samples
from workflow_scripts.training.attention import (
    attend_packed,
    choose_packing,
    get_packing_arguments,
)
from workflow_scripts.training.packing import collate
from workflow_scripts.training.trainable_parameters import select_trainable
from workflow_scripts.training.trainer import compute_summed_loss

# The shortest length, lengths that share a mask, and one longer than any shared mask.
LENGTHS = (2, 200, 7, 2, 31, 13)


def make_adapted(model):
    """Add LoRA adapters with non-initial values."""
    torch.manual_seed(0)
    model = select_trainable(model, make_keys(method="lora", lora_rank=2))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.copy_(torch.linspace(-0.3, 0.3, parameter.numel()).view_as(parameter))
    return model


def compute_gradients(model, loss):
    loss.backward()
    return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize(
    ("kind", "packing"),
    [
        *((kind, "stretches") for kind in ("qwen2", "qwen3", "gpt_neox", "gemma", "fused")),
        *((kind, "row") for kind in ("some_windowed", "eager")),
        *((kind, "none") for kind in ("gpt2", "gemma2", "cohere")),
    ],
)
def test_summed_loss_and_gradients(kind, packing):
    options = {} if kind == "fused" else {"initializer_range": 0.02}
    packed, padded = (make_tiny_model(kind, **options) for _ in range(2))
    keys = make_keys(packing=packing != "none")
    assert choose_packing(packed, keys) == packing
    if packing == "stretches":
        packed, padded = make_adapted(packed), make_adapted(padded)
    samples = list(make_samples(LENGTHS, seed=3, loss_start=5))
    inputs = collate(samples, packing != "none")
    labels, lengths = inputs.pop("labels"), inputs.pop("lengths", None)
    if lengths:
        inputs |= get_packing_arguments(packed, lengths)
    loss, tokens = compute_summed_loss(packed, inputs, labels)
    assert tokens == int((labels[:, 1:] != -100).sum())
    gradients = compute_gradients(packed, loss)

    inputs = collate(samples, False)
    targets = inputs.pop("labels")[:, 1:].flatten()
    logits = padded(**inputs, use_cache=False).logits[:, :-1].float().flatten(0, 1)
    expected_loss = F.cross_entropy(logits, targets, reduction="sum")
    expected = compute_gradients(padded, expected_loss)
    assert float(loss) == pytest.approx(float(expected_loss), rel=1e-5)
    assert gradients.keys() == expected.keys()
    for name, gradient in gradients.items():
        scale = max(1.0, float(expected[name].abs().max()))
        assert float((gradient - expected[name]).abs().max()) <= 1e-4 * scale, name


def test_bfloat16_attention():
    model, lengths = make_model("qwen2"), [*LENGTHS, 600]
    choose_packing(model, make_keys())
    query_key_value = torch.randn(3, 1, 4, sum(lengths), 8)

    def attend(dtype):
        inputs = query_key_value.to(dtype).requires_grad_()
        arguments = get_packing_arguments(model.to(dtype), lengths)
        tensors = inputs[0], inputs[1, :, :2], inputs[2, :, :2]
        output, _ = attend_packed(model.model.layers[0].self_attn, *tensors, **arguments)
        return output, *torch.autograd.grad(output.square().sum(), inputs)

    for exact, rounded in zip(attend(torch.float32), attend(torch.bfloat16), strict=True):
        assert float((exact - rounded).norm() / exact.norm()) < 0.02


def test_choose_packing_without_isolation():
    model = make_model("qwen2")
    forward = model.forward

    def ignore_samples(*args, position_ids=None, stretches=None, attention_mask=None, **kwargs):
        return forward(*args, **kwargs)

    model.forward = ignore_samples
    assert choose_packing(model, make_keys()) == "none"
    assert model.config._attn_implementation == "sdpa"
