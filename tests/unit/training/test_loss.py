"""The loss is that of the whole logits, with its gradients, whatever of them is computed."""

import pytest
import torch.nn.functional as F

from tests.tiny_models import tiny_model
from tests.unit.training.small import adapted, samples_of
from workflow_scripts.training.loss import summed_loss
from workflow_scripts.training.packing import Collator

KINDS = (
    "gpt2",
    "gpt_neox",
    "llama",
    "tied",
    "qwen3",
    "gemma",
    "gemma2",
    "cohere",
    "granite",
    "fused",
)


def of_whole_logits(model, inputs, labels):
    """As everybody computes it."""
    logits = model(**inputs, use_cache=False).logits[:, :-1].float()
    return F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), reduction="sum")


def gradients(model):
    return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("lengths", [(23, 2, 40, 9), (30,)], ids=["padded", "one row"])
@pytest.mark.parametrize("method", ["full", "lora"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_mathematics_is_that_of_whole_logits(kind, method, lengths):
    model = tiny_model(kind, **({} if kind == "fused" else {"initializer_range": 0.02}))
    model = adapted(model) if method == "lora" else model
    samples = samples_of(lengths, seed=5, counted_from=4)
    inputs = Collator(False, 0)([samples[number] for number in range(len(lengths))])
    labels = inputs.pop("labels")
    whole = of_whole_logits(model, inputs, labels)
    whole.backward()
    expected = gradients(model)
    model.zero_grad()
    loss, tokens = summed_loss(model, inputs, labels)
    loss.backward()
    assert tokens == int((labels[:, 1:] != -100).sum())
    assert float(loss.detach()) == pytest.approx(float(whole.detach()), rel=1e-6)
    assert gradients(model).keys() == expected.keys()
    for name, gradient in gradients(model).items():
        scale = max(1.0, float(expected[name].abs().max()))
        assert float((gradient - expected[name]).abs().max()) <= 1e-5 * scale, name


def test_logits_that_do_not_count_are_not_computed():
    model, seen = tiny_model("llama"), []
    model.lm_head.register_forward_hook(
        lambda _module, inputs, _output: seen.append(inputs[0].shape)
    )
    samples = samples_of((30,), counted_from=25)
    batch = Collator(True, 0)([samples[0]])
    summed_loss(model, {"input_ids": batch["input_ids"]}, batch["labels"])
    assert seen == [(1, 5, 32)]
