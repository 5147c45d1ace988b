"""The way rows are attended to on a GPU, with a plain kernel in the place of PyTorch's."""

import pytest
import torch

from tests.tiny_models import tiny_model
from tests.unit.training.small import keys_of, samples_of
from tests.unit.training.test_loss import gradients, of_whole_logits
from workflow_scripts.training import varlen
from workflow_scripts.training.attention import choose_packing, packing_arguments
from workflow_scripts.training.loss import summed_loss
from workflow_scripts.training.packing import Collator

LENGTHS = (2, 60, 7, 2, 31, 13)
# Without caps on the scores, which the kernel has none of.
KINDS = ("llama", "tied", "qwen3", "gpt_neox", "gpt2", "gemma", "fused")


def plain(query, key, value, ends, ends_of_keys, longest, _, *, scale, window_size, enable_gqa):
    """What PyTorch's kernel promises, sample by sample, as the formula has it."""
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


@pytest.fixture
def on_a_gpu(monkeypatch):
    monkeypatch.setattr(varlen, "kernel", plain)
    monkeypatch.setattr(varlen, "fits", lambda model: True)


def assert_same_as_padded(make, close=1e-5):
    samples = [samples_of(LENGTHS, seed=3, counted_from=3)[n] for n in range(len(LENGTHS))]
    model, padded = make(), make()
    row, rows = (Collator(packing, 0)(samples) for packing in (True, False))
    assert choose_packing(model, keys_of(max_length=1024)) == "varlen"
    expected = of_whole_logits(padded, rows, rows.pop("labels"))
    inputs = {name: row[name] for name in ("input_ids", "position_ids")}
    inputs |= packing_arguments(model, row["lengths"])
    found, _ = summed_loss(model, inputs, row["labels"])
    expected.backward()
    found.backward()
    assert float(found.detach()) == pytest.approx(float(expected.detach()), rel=close)
    wanted = gradients(padded)
    for name, gradient in gradients(model).items():
        scale = max(1.0, float(wanted[name].abs().max()))
        assert float((gradient - wanted[name]).abs().max()) <= 10 * close * scale, name


@pytest.mark.parametrize("kind", KINDS)
def test_loss_and_gradients_are_those_of_padded_rows(on_a_gpu, kind):
    options = {} if kind == "fused" else {"initializer_range": 0.05}
    assert_same_as_padded(lambda: tiny_model(kind, **options))


def test_so_they_are_where_a_model_looks_through_windows(on_a_gpu):
    options = {"use_sliding_window": True, "sliding_window": 9, "max_window_layers": 1}
    assert_same_as_padded(lambda: tiny_model("qwen2", initializer_range=0.05, **options))


def test_without_ends_it_attends_as_any_model(on_a_gpu):
    """As held-out items are evaluated, and padded rows are."""
    model, tokens = tiny_model("llama"), torch.arange(40).reshape(2, 20)
    expected = model(tokens).logits
    assert choose_packing(model, keys_of(max_length=64)) == "varlen"
    assert torch.equal(model(tokens).logits, expected)


@pytest.mark.parametrize(
    ("card", "kind", "changes", "fits"),
    [
        ((8, 0), "llama", {}, True),
        ((9, 0), "gemma", {"head_dim": 256}, True),
        ((7, 5), "llama", {}, False),  # a T4
        ((8, 0), "llama", {"attention_dropout": 0.1}, False),
        ((8, 0), "gpt2", {"attn_pdrop": 0.1}, False),
        ((8, 0), "gemma2", {}, False),  # caps its scores
        ((8, 0), "qwen3", {"head_dim": 12}, False),
        ((8, 0), "qwen3", {"head_dim": 512}, False),
    ],
)
def test_what_it_is_asked_for(monkeypatch, card, kind, changes, fits):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: card)
    model = tiny_model(kind, **changes).bfloat16()
    assert not varlen.fits(model), "it is on a CPU"
    monkeypatch.setattr(type(model), "device", torch.device("cuda"))
    assert varlen.fits(model) == fits
    assert not varlen.fits(model.float())


def test_flash_attention_is_told_once_where_samples_end():
    """transformers would ask the GPU for it in every layer."""
    model = tiny_model("llama")
    model.config._attn_implementation = "flash_attention_2"
    arguments = packing_arguments(model, [3, 7])
    assert arguments["cu_seq_lens_q"] is arguments["cu_seq_lens_k"]
    assert arguments["cu_seq_lens_q"].tolist() == [0, 3, 10]
    assert arguments["max_length_q"] == arguments["max_length_k"] == 7
