"""The loss in pieces: that of the whole logits, with its gradients, in the memory of a piece."""

import pytest
import torch
import torch.nn.functional as F
from transformers import LlamaForCausalLM

from tests.tiny_models import VOCABULARY, tiny_model
from tests.unit.largest import Largest
from tests.unit.training.small import adapted, samples_of
from workflow_scripts.planning import memory
from workflow_scripts.training.loss import Counted, find_head, summed_loss
from workflow_scripts.training.packing import Collator
from workflow_scripts.training.precision import calculating_in

KINDS = ("gpt2", "gpt_neox", "llama", "tied", "qwen3", "gemma", "cohere", "granite", "fused")
LENGTHS, AT_ONCE = (23, 2, 40, 9), 7


@pytest.fixture
def in_pieces(monkeypatch):
    monkeypatch.setattr(memory, "_TRAINED_LOGITS", AT_ONCE * VOCABULARY)


def batch_of(samples, padded: bool = True):
    batch = Collator(not padded, 0)([samples[at] for at in range(len(samples))])
    labels = batch.pop("labels")
    inputs = {name: batch[name] for name in batch if name != "lengths"}
    return inputs, labels, Counted.of(labels)


def of_whole_logits(model, inputs, labels):
    """As everybody computes it."""
    logits = model(**inputs, use_cache=False).logits[:, :-1]
    logits = logits if logits.dtype == torch.float64 else logits.float()
    targets = labels[:, 1:]
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")


def gradients(model):
    return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("method", ["full", "lora"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_mathematics_is_that_of_whole_logits(in_pieces, kind, method):
    """With scales, tied ends, in chunks; of rows that are padded and of which some tokens count.

    In float64, but for the norms, which transformers calculates in float32, and eager masks, which it cannot
    make in float64: Gemma 2 is below.
    """
    model = tiny_model(kind)
    model = (adapted(model) if method == "lora" else model).double()
    assert_same(model, 1e-6)


@pytest.mark.parametrize("method", ["full", "lora"])
@pytest.mark.parametrize("kind", ["llama", "tied", "gemma2", "gpt_neox"])
def test_so_it_is_in_float32(in_pieces, kind, method):
    """Of weights as usual; a cap on the logits and one on the scores."""
    model = tiny_model(kind, initializer_range=0.02)
    # Gradients are sums over all tokens, in another order.
    assert_same(adapted(model) if method == "lora" else model, 1e-6, of_gradients=1e-5)


def assert_same(model, close: float, of_gradients: float = 1e-6) -> None:
    inputs, labels, counted = batch_of(samples_of(LENGTHS, seed=5, counted_from=4))
    of_whole_logits(model, inputs, labels).backward()
    expected = gradients(model)
    wanted = float(of_whole_logits(model, inputs, labels).detach())
    model.zero_grad()
    head = find_head(model)
    assert head is not None
    assert len(counted.targets) > 3 * AT_ONCE
    found = summed_loss(model, inputs, counted, head)
    (found / 4).backward()  # as of a step with four times the tokens
    assert float(found.detach()) == pytest.approx(wanted, rel=close)
    assert gradients(model).keys() == expected.keys()
    for name, gradient in gradients(model).items():
        scale = max(1.0, float(expected[name].abs().max()))
        assert float((4 * gradient - expected[name]).abs().max()) <= of_gradients * scale, name
    with torch.no_grad():  # as on held-out samples
        assert float(summed_loss(model, inputs, counted, head)) == pytest.approx(wanted, rel=close)


def test_in_half_precision_a_trained_head_learns_what_it_would(in_pieces):
    """Its weights are turned into 16 bits once for all pieces."""
    model = tiny_model("llama")
    inputs, labels, counted = batch_of(samples_of(LENGTHS, seed=5))
    with calculating_in("bfloat16", "cpu"):
        loss = of_whole_logits(model, inputs, labels)
    loss.backward()
    expected = gradients(model)["lm_head.weight"]
    model.zero_grad()
    head = find_head(model)
    with calculating_in("bfloat16", "cpu"):
        found = summed_loss(model, inputs, counted, head)
    found.backward()
    assert float(found.detach()) == pytest.approx(float(loss.detach()), rel=1e-3)
    off = gradients(model)["lm_head.weight"] - expected
    assert float(off.norm() / expected.norm()) < 2e-2


@pytest.mark.parametrize("training", [True, False])
def test_no_more_logits_than_a_piece_ever_lie_in_memory(monkeypatch, training):
    vocabulary, length = 5000, 64
    model = adapted(tiny_model("llama", vocabulary=vocabulary))
    inputs, _, counted = batch_of(samples_of([length] * 2), padded=False)
    head, made = find_head(model), {}
    for pieces in (True, False):
        most = AT_ONCE * vocabulary if pieces else 1 << 26
        monkeypatch.setattr(memory, "_TRAINED_LOGITS", most)
        with torch.set_grad_enabled(training), Largest() as mode:
            loss = summed_loss(model, inputs, counted, head)
            if training:
                loss.backward()
        made[pieces] = mode.elements
    weights = vocabulary * 32  # the output layer's own
    assert made[True] <= max(AT_ONCE * vocabulary, weights)
    assert made[False] >= (2 * length - 2) * vocabulary


class Biased(LlamaForCausalLM):
    """Its logits are not what its output layer gives, in a way that nobody has told us of."""

    def forward(self, *arguments, **options):
        outputs = super().forward(*arguments, **options)
        outputs.logits = outputs.logits + torch.linspace(0, 9, VOCABULARY)
        return outputs


@pytest.mark.parametrize("padded", [True, False])
def test_a_model_that_makes_its_logits_otherwise_is_asked_for_them(in_pieces, padded):
    model = Biased(tiny_model("llama").config).eval()
    inputs, labels, counted = batch_of(samples_of([30] if not padded else LENGTHS), padded)
    assert find_head(model) is None
    found = summed_loss(model, inputs, counted, find_head(model))
    assert float(found) == pytest.approx(float(of_whole_logits(model, inputs, labels)), rel=1e-6)
