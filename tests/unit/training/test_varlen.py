"""The way rows are attended to on a GPU, with a plain kernel in the place of PyTorch's."""

import pytest
import torch

from tests.tiny_models import tiny_model
from tests.unit.training.small import keys_of, samples_of
from tests.unit.training.test_loss import gradients, of_whole_logits
from workflow_scripts.training import attention, varlen
from workflow_scripts.training.attention import choose_packing, rows_apart
from workflow_scripts.training.loss import Counted, find_head, summed_loss
from workflow_scripts.training.packing import Collator
from workflow_scripts.training.precision import calculating_in

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


def packed_and_padded(model, samples):
    batches = [Collator(packing, 0)(list(samples)) for packing in (True, False)]
    return [(batch, Counted(batch.pop("before"), batch.pop("targets"))) for batch in batches]


def assert_same_as_padded(make, close=1e-5, precision="float32"):
    samples = [samples_of(LENGTHS, seed=3, counted_from=3)[at] for at in range(len(LENGTHS))]
    model, padded = make(), make()
    (row, counted), (rows, _) = packed_and_padded(model, samples)
    assert choose_packing(model, keys_of(max_length=1024)) == "varlen"
    with calculating_in(precision, "cpu"):
        labels = rows.pop("labels")
        expected = of_whole_logits(padded, rows, labels)
        apart = rows_apart(model, row["lengths"], row["ends"])
        inputs = {name: row[name] for name in ("input_ids", "position_ids")} | apart
        found = summed_loss(model, inputs, counted, find_head(model))
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
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not model.get_input_embeddings()._forward_hooks


def no_kernel(*arguments, **options):
    raise RuntimeError("FlashAttention only supports Ampere GPUs or newer.")


class OneWay(torch.autograd.Function):
    @staticmethod
    def forward(ctx, attended):
        return attended.clone()

    @staticmethod
    def backward(ctx, gradient):
        raise RuntimeError("no kernel for the way back")


def one_way(*arguments, **options):
    return OneWay.apply(plain(*arguments, **options))


@pytest.mark.parametrize(
    ("kernel", "frozen", "said"),
    [
        (no_kernel, False, "FlashAttention only"),
        (one_way, False, "no kernel for the way back)"),
        (one_way, True, "no kernel for the way back)"),
    ],
)
def test_what_the_kernel_refuses_goes_in_stretches(
    on_a_gpu, monkeypatch, capsys, kernel, frozen, said
):
    monkeypatch.setattr(varlen, "kernel", kernel)
    model = tiny_model("llama").requires_grad_(not frozen)
    assert choose_packing(model, keys_of(max_length=64)) == "stretches"
    assert model.config._attn_implementation == attention.NAME
    assert f"cannot run this model ({said}" in capsys.readouterr().out


@pytest.mark.parametrize("error", [torch.OutOfMemoryError, torch.AcceleratorError])
def test_what_fails_on_the_device_is_no_reason_to_train_otherwise(on_a_gpu, monkeypatch, error):
    def fails(*_, **__):
        raise error("CUDA error: unspecified launch failure")

    monkeypatch.setattr(varlen, "kernel", fails)
    with pytest.raises(error, match="unspecified"):
        choose_packing(tiny_model("llama"), keys_of(max_length=64))


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
    ends = torch.tensor([0, 3, 10], dtype=torch.int32)
    found = rows_apart(model, [3, 7], ends)
    assert {"cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k"} == found.keys()
    assert found["cu_seq_lens_q"] is found["cu_seq_lens_k"] is ends
    assert found["max_length_q"] == found["max_length_k"] == 7
