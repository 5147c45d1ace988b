"""What a step needs is what autograd keeps, of each architecture; and what follows from it."""

import numpy as np
import pytest
import torch
from torch import nn

from tests.tiny_models import tiny_model
from tests.unit.training.small import drawn_samples, keys_of, losses, model_of, train_small
from workflow_scripts.planning.memory import room_on
from workflow_scripts.training import run
from workflow_scripts.training.activations import (
    BatchShape,
    Fitting,
    StepMemory,
    longest_row,
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
    memory = StepMemory.of(model, precision)
    told = memory.kept_bytes(row)
    assert torch.equal(torch.get_rng_state(), state), "dropout of the training is the seed's"
    assert (
        0.98 < told / weigh(model, row, precision) < 1.08
    )  # chunks keep a little more of short ones
    assert memory.kept_bytes(BatchShape(1, 350)) < 0.6 * told


@pytest.mark.parametrize("kind", ["llama", "gemma2"])
def test_of_padded_rows_each_keeps_its_own(kind):
    model, row = to_train(kind, "lora", packing=False), BatchShape(5, 90)
    kept = StepMemory.of(model, "float32").kept_bytes(row)
    assert kept == pytest.approx(weigh(model, row, "float32"), rel=0.1)


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
    told = StepMemory.of(model, "float32").kept_bytes(row)
    model.activation_checkpointing_enable()
    model.enable_input_require_grads()
    assert weigh(model, row, "float32") < 0.3 * told


def test_logits_and_what_is_trained_need_room_too():
    adapted, full = (to_train("llama", method, packing=True) for method in ("lora", "full"))
    row = BatchShape(1, 100)
    parameters = sum(p.numel() for p in full.parameters())
    logits = row.tokens * 61 * 4 * 3  # of each its value, its log-probability and its gradient
    for model, trained in ((adapted, 0), (full, 12 * parameters)):
        needed = StepMemory.of(model, "float32").bytes(row)
        assert needed > weigh(model, row, "float32") + logits + trained


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

    class Noted(StepMemory):
        def bytes(self, row):
            asked.append((super().bytes(row), self.in_pieces))
            return asked[-1][0]

    monkeypatch.setattr(run, "room_on", lambda device: 10**12)
    monkeypatch.setattr(run, "StepMemory", Noted)
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


def test_a_long_row_is_cut_apart_and_only_a_long_sample_has_all_calculated_twice():
    memory = StepMemory(
        (0.0, 1000.0, 0.0), trained=0, vocabulary=1, in_pieces=True, distilled=False
    )
    row = BatchShape(1, 800)

    def chosen(wanted: str, tokens: int, sample: int) -> Fitting:
        return Fitting.choose(wanted, memory.bytes(BatchShape(1, tokens)), row, sample, memory)

    assert chosen("auto", 800, 300) == chosen("no", 800, 300) == Fitting(None, False)
    assert chosen("auto", 799, 300) == Fitting(799, False)
    assert chosen("auto", 300, 300) == Fitting(300, False)
    assert chosen("auto", 299, 300) == Fitting(None, True)
    assert chosen("no", 299, 300) == Fitting(299, False)  # as told, and as little as there is


@pytest.mark.parametrize("packing", [True, False])
def test_rows_that_have_no_room_train_as_if_they_had(tmp_path, monkeypatch, packing):
    """Once memory holds some three samples at a time, and all of a step at once."""
    samples = drawn_samples(30, most=80)
    options = {"samples": samples, "batch_size": 8, "precision": "float32", "packing": packing}
    whole = train_small(tmp_path / "whole", "llama", **options)
    lengths = []

    def load(dtype):
        model = model_of("llama")
        model.model.layers[0].register_forward_pre_hook(
            lambda layer, inputs: lengths.append(inputs[0].shape[:2].numel())
        )
        return model

    model = load("float32")
    choose_packing(model, keys_of(packing=packing))
    room = StepMemory.of(choose_parts(model, keys_of()), "float32").bytes(BatchShape(1, 200))
    lengths.clear()
    monkeypatch.setattr(run, "room_on", lambda device: room)
    found = train_small(tmp_path / "cut", "llama", load=load, **options)
    rows = [length for length in lengths if length > 100]  # none that only tries the model out
    assert rows and max(rows) <= 200
    assert losses(found) == pytest.approx(losses(whole), abs=1e-4)
    for name, tensor in whole.parameters.items():
        assert torch.allclose(found.parameters[name], tensor, atol=1e-4), name


def test_on_a_processor_nothing_is_weighed(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "StepMemory", None)
    for wanted in ("auto", "yes"):
        train_small(tmp_path / wanted, max_steps=1, gradient_checkpointing=wanted)
    assert room_on(torch.device("cpu")) is None
