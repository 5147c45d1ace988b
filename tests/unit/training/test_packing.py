"""Packed rows: the loss and the gradients of whole logits and padded batches, and no sample sees another."""

import pytest
import torch
import torch.nn.functional as F

from tests.tiny_models import tiny_model
from tests.unit.training.small import adapted, keys_of, model_of, samples_of
from workflow_scripts.training import attention
from workflow_scripts.training.attention import choose_packing, packing_arguments, supports_varlen
from workflow_scripts.training.loss import summed_loss
from workflow_scripts.training.packing import BLANK, Collator, Order

# The shortest there are, some that share a mask, some longer than any shared one.
LENGTHS = (2, 200, 7, 2, 31, 13, 513, 90)


def plain_kernel(
    query, key, value, ends, ends_of_keys, longest, _, *, scale, window_size, enable_gqa
):
    """Compute what PyTorch's kernel promises, sample by sample, as the formula has it."""
    assert ends.dtype == torch.int32 and torch.equal(ends, ends_of_keys)
    assert longest == int(ends.diff().max()) and int(ends[-1]) == len(query)
    assert enable_gqa == (query.shape[1] != key.shape[1])
    left, right = window_size
    assert right == 0
    outputs = []
    for start, end in ends.unfold(0, 2, 1).tolist():
        q, k, v = (x[start:end].transpose(0, 1) for x in (query, key, value))
        k, v = (x.repeat_interleave(len(q) // len(k), 0) for x in (k, v))
        back = torch.arange(end - start)[:, None] - torch.arange(end - start)[None]
        seen = (back >= 0) & ((left < 0) | (back <= left))
        scores = (q @ k.transpose(1, 2)).float() * scale
        weights = scores.masked_fill(~seen, -torch.inf).softmax(-1)
        outputs.append((weights @ v.float()).to(q.dtype).transpose(0, 1))
    return torch.cat(outputs)


def gradients(model):
    return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


def compute_whole(model, samples):
    """Compute the loss of padded rows as everybody does, with its gradients."""
    inputs = Collator(False, 0)(samples)
    labels = inputs.pop("labels")
    logits = model(**inputs, use_cache=False).logits[:, :-1].float()
    loss = F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), reduction="sum")
    loss.backward()
    return float(loss.detach()), gradients(model)


def compute_packed(model, kind, samples):
    bare = getattr(model, "get_base_model", lambda: model)()  # before adapters, as in a training
    keys = keys_of(packing=kind != "none", compile=kind == "row", max_length=1024)
    assert choose_packing(bare, keys) == kind
    inputs = Collator(kind != "none", 0)(samples)
    labels, lengths = inputs.pop("labels"), inputs.pop("lengths", None)
    if lengths:
        inputs |= packing_arguments(model, lengths)
    loss, tokens = summed_loss(model, inputs, labels)
    loss.backward()
    assert tokens == int((labels[:, 1:] != -100).sum())
    return float(loss.detach()), gradients(model)


WINDOWS = {"use_sliding_window": True, "sliding_window": 9, "max_window_layers": 1}
CASES = [
    *((kind, "stretches", {}) for kind in ("qwen2", "qwen3", "llama", "gpt_neox", "fused")),
    *((kind, "row", {}) for kind in ("llama", "gpt_neox", "fused")),
    *((kind, "varlen", {}) for kind in ("llama", "tied", "gpt_neox", "gpt2", "gemma", "fused")),
    *((kind, "none", {}) for kind in ("gpt2", "gemma2", "cohere", "granite")),
    ("qwen2", "varlen", WINDOWS), ("qwen2", "row", WINDOWS), ("qwen2", "row", {"attn_implementation": "eager"}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "packing", "changes"), CASES)
def test_loss_and_gradients_are_those_of_whole_logits(monkeypatch, kind, packing, changes):
    monkeypatch.setattr(attention, "varlen_kernel", plain_kernel)
    monkeypatch.setattr(attention, "supports_varlen", lambda model: packing == "varlen")
    options = {} if kind == "fused" else {"initializer_range": 0.02}
    packed, whole = (tiny_model(kind, **options, **changes) for _ in range(2))
    if packing == "stretches":
        packed, whole = adapted(packed), adapted(whole)
    samples = [samples_of(LENGTHS[:6], seed=3, counted_from=5)[number] for number in range(6)]
    loss, own = compute_packed(packed, packing, samples)
    expected_loss, expected = compute_whole(whole, samples)
    assert loss == pytest.approx(expected_loss, rel=1e-5)
    assert own.keys() == expected.keys()
    for name, gradient in own.items():
        scale = max(1.0, float(expected[name].abs().max()))
        assert float((gradient - expected[name]).abs().max()) <= 1e-4 * scale, name


def test_a_model_whose_samples_see_one_another_is_padded(monkeypatch):
    model = model_of("qwen2")
    forward = model.forward

    def ignore_ends(*args, position_ids=None, stretches=None, attention_mask=None, **kwargs):
        return forward(*args, **kwargs)

    monkeypatch.setattr(model, "forward", ignore_ends)
    assert choose_packing(model, keys_of()) == "none"
    assert model.config._attn_implementation == "sdpa"


@pytest.mark.parametrize(
    ("gpu", "kind", "changes", "expected"),
    [
        ((8, 0), "llama", {}, True),
        ((7, 5), "llama", {}, False),  # a T4
        ((8, 0), "gpt2", {"attn_pdrop": 0.1}, False),
        ((8, 0), "gemma2", {}, False),  # caps its scores
        ((8, 0), "qwen3", {"head_dim": 12}, False),
        ((8, 0), "qwen3", {"head_dim": 512}, False),
    ],
)
def test_varlen_is_for_what_its_kernel_can_do(monkeypatch, gpu, kind, changes, expected):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: gpu)
    model = tiny_model(kind, **changes).bfloat16()
    assert not supports_varlen(model), "it is on a CPU"
    monkeypatch.setattr(type(model), "device", torch.device("cuda"))
    assert supports_varlen(model) == expected and not supports_varlen(model.float())


@pytest.mark.parametrize(("samples", "batch", "micro"), [(20, 8, 4), (21, 8, 3), (5, 8, 8)])
@pytest.mark.parametrize("processes", [1, 2, 3])
def test_every_sample_is_in_one_step_of_an_epoch(samples, batch, micro, processes):
    orders = [Order(samples, batch, micro, 7, rank, processes) for rank in range(processes)]
    by_step = list(zip(*(order.steps() for order in orders), strict=True))
    for micro_batches in by_step:  # all take the same number, or one would wait for ever
        assert len({len(of_process) for of_process in micro_batches}) == 1
    seen = [n for step in by_step for own in step for some in own for n in some]
    assert sorted(n for n in seen if n != BLANK) == list(range(samples))
    assert [len(list(order)) for order in orders] == [len(order) for order in orders]
