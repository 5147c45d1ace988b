"""What a step needs is what autograd keeps, of each architecture; and what follows from it."""

import numpy as np
import pytest
import torch
from torch import nn

from tests.tiny_models import tiny_model
from tests.unit.training.small import drawn_samples, keys_of, train_small
from workflow_scripts.planning.memory import room_on
from workflow_scripts.training import run
from workflow_scripts.training.activations import (
    BatchShape,
    choose_checkpointing,
    kept_bytes,
    longest_row,
    step_bytes,
    weigh,
)
from workflow_scripts.training.attention import choose_packing
from workflow_scripts.training.packing import Order
from workflow_scripts.training.trained_parameters import choose_parts

KINDS = ("llama", "tied", "gpt_neox", "gpt2", "gemma", "gemma2", "fused")


def to_train(kind: str, method: str, packing: bool):
    model, keys = tiny_model(kind), keys_of(method=method, lora_dropout=0.1, packing=packing)
    choose_packing(model, keys)
    return choose_parts(model, keys)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("method", ["lora", "full"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_row_keeps_is_told_from_short_ones(kind, method, precision):
    """Gemma 2's attention grows with the square of a row, the others' with the row."""
    model = to_train(kind, method, packing=True)
    row = BatchShape(1, 700)
    state = torch.get_rng_state()
    told = kept_bytes(model, row, precision)
    assert torch.equal(torch.get_rng_state(), state), "dropout of the training is the seed's"
    assert (
        0.98 < told / weigh(model, row, precision) < 1.08
    )  # chunks keep a little more of short ones
    assert kept_bytes(model, BatchShape(1, 350), precision) < 0.6 * told


@pytest.mark.parametrize("kind", ["llama", "gemma2"])
def test_of_padded_rows_each_keeps_its_own(kind):
    model, row = to_train(kind, "lora", packing=False), BatchShape(5, 90)
    assert kept_bytes(model, row, "float32") == pytest.approx(weigh(model, row, "float32"), rel=0.1)


class TwoLayers(nn.Module):
    """Of which one can say what is kept: the input of each layer and of the function between them."""

    def __init__(self):
        super().__init__()
        self.config = type("Config", (), {"_attn_implementation": "sdpa"})
        self.embed, self.first, self.second = nn.Embedding(9, 8), nn.Linear(8, 32), nn.Linear(32, 8)

    @property
    def device(self):
        return torch.device("cpu")

    def forward(self, input_ids, **_options):
        return self.second(torch.sin(self.first(self.embed(input_ids))))


def test_what_is_kept_is_counted_once_and_weights_are_not():
    tokens = 10
    numbers = 8 * 1 + 4 * (8 + 32 + 32)  # tokens' ids, then inputs of first, sin and second
    assert weigh(TwoLayers(), BatchShape(1, tokens), "float32") == tokens * numbers


def test_checkpointing_keeps_less_than_the_estimate_without_it():
    model, row = to_train("llama", "lora", packing=True), BatchShape(1, 700)
    told = kept_bytes(model, row, "float32")
    model.activation_checkpointing_enable()
    model.enable_input_require_grads()
    assert weigh(model, row, "float32") < 0.3 * told


def test_logits_and_what_is_trained_need_room_too():
    adapted, full = (to_train("llama", method, packing=True) for method in ("lora", "full"))
    row = BatchShape(1, 100)
    parameters = sum(p.numel() for p in full.parameters())
    logits = row.tokens * 61 * 4 * 3  # of each its value, its log-probability and its gradient
    for model, trained in ((adapted, 0), (full, 12 * parameters)):
        assert step_bytes(model, row, "float32") > weigh(model, row, "float32") + logits + trained


MIXED = {
    "freeze": ("llama", {"method": "freeze", "trains": ["layers 1"]}),
    "lora": ("llama", {"method": "lora", "trains": ["*norm*"]}),
    "chunks": ("fused", {"method": "freeze", "trains": ["wrapper"]}),
}


@pytest.mark.parametrize("compiles", [False, True])
@pytest.mark.parametrize("part", MIXED)
def test_a_model_of_two_formats_is_weighed_and_trained(tmp_path, monkeypatch, part, compiles):
    """As on a GPU: float32 is what is trained, among what stays as it is in bfloat16."""
    kind, keys = MIXED[part]
    asked = []

    def weighs(model, row, precision, *, in_pieces):
        asked.append((step_bytes(model, row, precision, in_pieces=in_pieces), in_pieces))
        return asked[-1][0]

    monkeypatch.setattr(run, "room_on", lambda device: 10**12)
    monkeypatch.setattr(run, "step_bytes", weighs)
    if compiles:
        monkeypatch.setattr(torch, "compile", lambda model, **_: model)
    trained = train_small(tmp_path, kind, precision="bfloat16", max_steps=1, compile=compiles, **keys)  # fmt: skip
    assert trained.facts["steps"] == 1
    ((needed, in_pieces),) = asked
    assert needed > 0 and in_pieces is not compiles


@pytest.mark.parametrize("padded", [True, False])
def test_the_longest_row_is_found_in_all_epochs(padded):
    samples = drawn_samples(30, most=200)
    order = Order(30, 8, 4, 0)
    found = longest_row(samples, order, 3, padded=padded)
    lengths, tokens = samples.lengths, []
    for epoch in range(3):
        order.set_epoch(epoch)
        for micro in order:
            of_each = lengths[np.array(micro)]
            tokens.append(int(of_each.max()) * len(micro) if padded else int(of_each.sum()))
    assert found.tokens == max(tokens)
    assert (found.rows == 1) == (not padded)


def test_one_calculates_twice_where_once_has_no_room():
    def nobody_asks():
        raise AssertionError("it was not to be weighed")

    assert choose_checkpointing("auto", 100, lambda: 101)
    assert not choose_checkpointing("auto", 100, lambda: 99)
    assert not choose_checkpointing("auto", None, nobody_asks)  # a CPU
    assert choose_checkpointing("yes", None, nobody_asks)
    assert not choose_checkpointing("no", 0, nobody_asks)
    assert room_on(torch.device("cpu")) is None
