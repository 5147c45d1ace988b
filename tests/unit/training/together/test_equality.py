"""Trainings that share their steps come to what each comes to by itself."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers.models.qwen2.modeling_qwen2 import Qwen2RMSNorm

from tests.tiny_models import tiny_model
from tests.unit.training.small import drawn_samples, keys_of
from tests.unit.training.together.lessons import alone, around, lesson, lessons, together
from workflow_scripts.chunked.stacked import Norm
from workflow_scripts.core.errors import UserError
from workflow_scripts.training.attention import choose_packing
from workflow_scripts.training.together import products, run
from workflow_scripts.training.together.dropout import Dropout
from workflow_scripts.training.together.products import Groups, Stacked, added
from workflow_scripts.training.together.run import train_together
from workflow_scripts.training.together.stack import AdapterStack
from workflow_scripts.training.trained_parameters import choose_parts

KINDS = ("llama", "tied", "gpt_neox", "gpt2", "gemma", "fused")


def furthest(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> float:
    assert one.keys() == other.keys()
    return max(float((one[name] - other[name]).abs().max()) for name in one)


def assert_same(shared, single, within: float) -> None:
    assert furthest(shared.parameters, single.parameters) < within
    assert shared.selected["step"] == single.selected["step"]
    assert shared.facts["steps"] == single.facts["steps"]
    assert shared.facts["tokens"] == single.facts["tokens"]
    assert len(shared.history) == len(single.history)
    for ours, theirs in zip(shared.history, single.history, strict=True):
        assert ours.keys() == theirs.keys()
        for name, value in ours.items():  # the trainer keeps its losses in 32 bits
            assert value == pytest.approx(theirs[name], rel=1e-6, abs=within), (name, theirs)


@pytest.fixture
def exact_norms(monkeypatch):
    """Qwen2's norms, and those of chunks, in float64: they round to float32, and once in some hundred
    trainings two sums that differ in the fifteenth place are rounded to either side."""

    def forward(norm, x):
        return norm.weight * (x * torch.rsqrt(x.square().mean(-1, True) + norm.variance_epsilon))

    monkeypatch.setattr(Qwen2RMSNorm, "forward", forward)
    # Each norm is called by itself.
    monkeypatch.setattr(Norm, "prepare", lambda norm: setattr(norm, "weight", None))


@pytest.mark.usefixtures("exact_norms")
@pytest.mark.parametrize("kind", KINDS)
def test_to_the_ninth_place(kind, tmp_path):
    model = (tiny_model(kind) if kind == "fused" else tiny_model(kind, layers=2)).double()
    asked = lessons()
    found = together(model, asked, tmp_path / "together")
    chosen = set()
    for one in asked:
        single = alone(model, one, tmp_path / one.name)
        assert_same(found[one.name], single, 1e-9)
        chosen.add(single.selected["step"] == single.facts["steps"])
    assert chosen == {True, False}, "which epoch is chosen should differ, or it shows nothing"


@pytest.mark.usefixtures("exact_norms")
def test_those_without_patience_end_and_make_room_as_they_do_alone(tmp_path):
    model = tiny_model("llama", layers=2).double()
    asked = lessons(select="patience", epochs=4)
    found = together(model, asked, tmp_path / "together", at_once=3)
    ended = set()
    for one in asked:
        single = alone(model, one, tmp_path / one.name)
        assert_same(found[one.name], single, 1e-9)
        ended.add(single.facts["steps"] < one.steps)
    assert ended == {True, False}


def test_the_optimisers_too(tmp_path):
    model = tiny_model("llama", layers=2).double()
    asked = lessons(((9, 9), (18, 24)), max_steps=4, save_every=6)  # steps of both: after three
    together(model, asked, tmp_path / "together")
    for slot, one in enumerate(asked):
        one = replace(one, keys=one.keys.model_copy(update={"save_every": 3}))
        alone(model, one, tmp_path / one.name)
        theirs = torch.load(tmp_path / one.name / "checkpoint-3/optimizer.pt")["state"]
        ours = load_file(tmp_path / f"together/checkpoint-3/{slot}.safetensors")
        assert float(ours["step"]) == float(theirs[0]["step"]) == 3
        for name in ("exp_avg", "exp_avg_sq"):
            flat = torch.cat([theirs[number][name].flatten() for number in sorted(theirs)])
            kept = ours[name][: len(flat)]  # adapters of this size lie without gaps
            assert len(kept) == len(ours[name]) and float((kept - flat).abs().max()) < 1e-9


def test_who_ends_makes_room_and_long_batches_are_cut(tmp_path, monkeypatch):
    model = tiny_model("qwen2", layers=2).double()
    asked = lessons()
    expected = together(model, asked, tmp_path / "all")
    monkeypatch.setattr(run, "ROW_ON_A_CPU", 50)
    found = together(model, asked, tmp_path / "three", at_once=3)
    for one in asked:
        assert_same(found[one.name], expected[one.name], 1e-9)


def test_one_that_goes_wrong_leaves_the_others_as_they_are(tmp_path):
    """Its numbers become none, and stand in one row with theirs."""
    model = tiny_model("llama", layers=2).double()
    asked = lessons()[:4]
    expected = together(model, asked, tmp_path / "without")
    wrong = lesson("wrong", drawn_samples(40, most=9), learning_rate=1e38, schedule="constant")
    found = together(model, [*asked[:2], wrong, *asked[2:]], tmp_path / "with")
    outcome = found.pop("wrong")
    assert isinstance(outcome, UserError) and "Training stopped at step" in str(outcome)
    for name, other in found.items():
        assert_same(other, expected[name], 1e-9)


def test_an_evaluation_that_fails_is_that_one_s_alone(tmp_path):
    def fails(model):
        raise ValueError("no such metric")

    model = tiny_model("llama", layers=2)
    first, second = lessons(((5, 9), (5, 9)))
    found = together(model, [replace(first, score=fails), second], tmp_path / "state")
    assert str(found["0"]) == "no such metric"
    assert found["1"].selected["step"] >= 2


def test_what_is_dropped_does_not_depend_on_who_is_beside(tmp_path):
    model = tiny_model("llama", layers=2)
    asked = lessons(lora_dropout=0.3, lora_rank=4)  # of which one call makes all products
    found = together(model, asked, tmp_path / "together")
    for one in asked[:3]:
        by_itself = together(model, [one], tmp_path / one.name)[one.name]
        assert furthest(by_itself.parameters, found[one.name].parameters) < 1e-5
    without = together(model, [lessons(lora_rank=4)[1]], tmp_path / "without")["1"]
    assert furthest(without.parameters, found["1"].parameters) > 1e-4


def test_a_model_that_draws_itself_is_not_shared(tmp_path, capsys):
    model = tiny_model("gpt2", resid_pdrop=0.1)
    assert train_together(around(model), lessons(), tmp_path, device="cpu", at_once=8) is None


def off_by(kind: str, precision: str, of_scale: float = 1.0, slot: int = 0) -> float:
    """Of the trial row, in which `of_scale` and `slot` are what is wrong with the products."""
    model = tiny_model(kind).to(getattr(torch, precision))
    keys = keys_of(method="lora", lora_rank=8, lora_alpha=32.0, lora_targets=("all-linear",))
    load = around(model)
    shared, adapted = load(precision), choose_parts(load(precision), keys)
    choose_packing(shared, keys)
    stack = AdapterStack(
        shared, adapted, keys.model_copy(update={"lora_alpha": 32.0 * of_scale}), 3
    )
    put = stack.put
    stack.put = lambda at, tensors: put((at + slot) % 3, tensors)
    return run._off_by(stack, adapted, precision)


@pytest.mark.parametrize("kind", ["llama", "gpt_neox", "gemma", "fused"])
def test_the_trial_row_tells_what_is_wrong_from_rounding(kind):
    """As the steps calculate: in 16 bits rounding of large adapters had been taken for a difference."""
    assert off_by(kind, "float32") < 1e-5
    assert off_by(kind, "bfloat16") < run._ALIKE[False]
    for precision in ("float32", "bfloat16"):
        refused = run._ALIKE[precision == "float32"]
        assert off_by(kind, precision, of_scale=2.0) > refused
        assert off_by(kind, precision, slot=1) > refused


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_so_much_is_dropped(rate):
    dropout = Dropout(rate, torch.device("cpu"))
    dropout.begin([1, 2], [300, 7])
    kept = dropout.draw(torch.ones(307, 333))
    share, n = kept.double().mean(), kept.numel()
    assert abs(share - (1 - rate)) < 5 * math.sqrt(rate * (1 - rate) / n)
    assert dropout.scale == pytest.approx(1 / (1 - rate), rel=1e-4)
    assert not torch.equal(kept[:7], kept[300:])


@pytest.mark.parametrize(
    ("dtype", "card", "at_once"),
    [
        (torch.bfloat16, (9, 0), True),
        (torch.bfloat16, (10, 0), True),
        (torch.bfloat16, (8, 0), False),  # PyTorch would ask the GPU where each ends, and wait
        (torch.bfloat16, (12, 0), False),
        (torch.float32, (9, 0), False),
    ],
)
def test_one_call_on_gpus_that_have_a_kernel_for_it(dtype, card, at_once, monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: card)
    products._is_hopper_or_blackwell.cache_clear()
    x = SimpleNamespace(is_cuda=True, dtype=dtype)
    assert products._fits(torch.zeros(2, 8, 16), x) is at_once
    products._is_hopper_or_blackwell.cache_clear()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("dtype", "rank", "width"),
    [(torch.float64, 3, 6), (torch.float32, 3, 6), (torch.float32, 4, 16)],  # the last in one call
)
@pytest.mark.parametrize("by_columns", [True, False])
def test_products_of_groups(dtype, rank, width, seed, by_columns, monkeypatch):
    """Against each token by itself, and their gradients against autograd's; one group is broken."""
    monkeypatch.setattr(products, "_by_columns", lambda x: by_columns)
    rng = np.random.default_rng(seed)
    sizes = [0, *rng.integers(0, 9, 4).tolist(), 3, 0]
    owner, n = np.repeat(np.arange(7), sizes), sum(sizes)
    x = torch.randn(n, width, dtype=dtype)
    x[-3:] = torch.nan  # what has diverged is nobody else's
    x.requires_grad_()
    stacks = [torch.randn(7, rank, width, dtype=dtype), torch.randn(7, rank, 8, dtype=dtype)]
    down, up = (Stacked(each.requires_grad_(), torch.zeros_like(each)) for each in stacks)
    kept, of_sum = torch.rand(x.shape) > 0.3, torch.randn(n, 8, dtype=dtype)
    found = added(x, down, up, Groups.of(sizes, x.device), 0.7, kept)
    (of_x,) = torch.autograd.grad(found, [x], of_sum)
    each = [0.7 * stacks[1][at].T @ stacks[0][at] @ (x * kept)[n] for n, at in enumerate(owner)]
    expected = torch.stack(each)
    gradients = torch.autograd.grad(expected, [x, *stacks], of_sum)
    assert all(torch.isfinite(tensor[:5]).all() for tensor in (down.gradients, up.gradients))
    for ours, theirs in zip(
        (found, of_x, down.gradients, up.gradients), (expected, *gradients), strict=True
    ):
        torch.testing.assert_close(ours, theirs, equal_nan=True)
