"""Packed rows: the loss and the gradients of padded batches, and no sample sees another."""

from dataclasses import replace

import pytest
import torch
from transformers import TrainingArguments

from tests.unit.training.small import (
    KINDS,
    drawn_samples,
    keys_of,
    model_of,
    samples_of,
    train_small,
)
from workflow_scripts.training import attention
from workflow_scripts.training.attention import choose_packing
from workflow_scripts.training.packing import BLANK, Collator, Order
from workflow_scripts.training.run import Attempt
from workflow_scripts.training.state import StateFolder
from workflow_scripts.training.trained_parameters import choose_parts
from workflow_scripts.training.trainer import PackedTrainer

# The shortest there are, some that share a mask, some longer than any shared one.
LENGTHS = (2, 200, 7, 2, 31, 13, 513, 90)
COUNTED_FROM = 5


def way_of(model, way: str) -> bool:
    """Whether its rows are packed; by the trainer's own choice unless it is to be padded."""
    chosen = choose_packing(
        model, keys_of(packing=way != "padded", compile=way == "row", max_length=1024)
    )
    assert chosen == {"padded": "none"}.get(way, way)
    return chosen != "none"


def loss_and_gradients(model, way: str, folder, samples, **arguments):
    packing = way_of(model, way)
    trainer = PackedTrainer(
        model,
        TrainingArguments(output_dir=str(folder), use_cpu=True, report_to=[], **arguments),
        samples=samples,
        order=Order(len(samples), len(samples), len(samples), 0),
        collator=Collator(packing, 0),
        held_out=None,
        score=None,
        callbacks=[],
    )
    inputs = trainer.data_collator([samples[at] for at in range(len(samples))])
    count = int((inputs["labels"][:, 1:] != -100).sum())
    model.train()
    if arguments:
        model.activation_checkpointing_enable()
    loss = trainer.compute_loss(model, inputs, num_items_in_batch=count)
    loss.backward()
    return loss.detach(), {n: p.grad for n, p in model.named_parameters() if p.requires_grad}


def assert_same(ours, theirs):
    assert float(ours[0]) == pytest.approx(float(theirs[0]), abs=1e-5)
    assert ours[1].keys() == theirs[1].keys()
    for name, gradient in theirs[1].items():
        scale = max(1.0, float(gradient.abs().max()))
        assert float((ours[1][name] - gradient).abs().max()) <= 1e-5 * scale, name


@pytest.mark.parametrize("way", ["stretches", "row"])
@pytest.mark.parametrize("kind", KINDS)
def test_same_loss_and_gradients_as_padded(tmp_path, kind, way):
    samples = samples_of(LENGTHS, seed=3, counted_from=COUNTED_FROM)
    packed = loss_and_gradients(model_of(kind), way, tmp_path, samples)
    assert_same(packed, loss_and_gradients(model_of(kind), "padded", tmp_path, samples))


@pytest.mark.parametrize("kind", ["qwen2", "gpt_neox", "fused"])
def test_same_with_eager_attention(tmp_path, kind):
    samples = samples_of(LENGTHS[:6], seed=3)
    packed = loss_and_gradients(model_of(kind, "eager"), "row", tmp_path, samples)
    assert_same(packed, loss_and_gradients(model_of(kind), "padded", tmp_path, samples))


@pytest.mark.parametrize("kind", ["windowed", "some_windowed"])
def test_same_where_a_model_looks_through_windows(tmp_path, kind):
    """Their windows are narrower than samples are long, which only transformers' masks know of."""
    samples = samples_of(LENGTHS[:6], seed=3)
    packed = loss_and_gradients(model_of(kind), "row", tmp_path, samples)
    assert_same(packed, loss_and_gradients(model_of(kind), "padded", tmp_path, samples))


@pytest.mark.parametrize("kind", ["llama", "fused"])
def test_same_with_gradient_checkpointing(tmp_path, kind):
    samples = samples_of(LENGTHS[:6], seed=3)
    options = {"activation_checkpointing": True}
    packed = loss_and_gradients(model_of(kind), "stretches", tmp_path, samples, **options)
    assert_same(packed, loss_and_gradients(model_of(kind), "padded", tmp_path, samples))


@pytest.mark.parametrize("kind", ["qwen2", "fused"])
def test_same_with_adapters(tmp_path, kind):
    def adapted():
        keys = keys_of(method="lora", lora_rank=2)
        model = choose_parts(model_of(kind), keys)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if "lora_B" in name:
                    parameter.copy_(torch.linspace(-0.3, 0.3, parameter.numel()).view_as(parameter))
        return model

    samples = samples_of(LENGTHS[:6], seed=3)
    # The way is chosen before the adapters are put in, as in a training.
    model = adapted()
    way_of(model.get_base_model(), "stretches")
    padded = loss_and_gradients(adapted(), "padded", tmp_path, samples)
    inputs = Collator(True, 0)([samples[at] for at in range(len(samples))])
    count = int((inputs["labels"] != -100).sum())
    trainer = PackedTrainer(
        model,
        TrainingArguments(output_dir=str(tmp_path), use_cpu=True, report_to=[]),
        samples=samples,
        order=Order(6, 6, 6, 0),
        collator=None,
        held_out=None,
        score=None,
        callbacks=[],
    )
    model.train()
    loss = trainer.compute_loss(model, inputs, num_items_in_batch=count)
    loss.backward()
    gradients = {n: p.grad for n, p in model.named_parameters() if p.requires_grad}
    assert all(float(g.abs().max()) > 0 for n, g in gradients.items() if "lora_A" in n)
    assert_same((loss.detach(), gradients), padded)


@pytest.mark.parametrize("way", ["stretches", "row"])
@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_no_sample_sees_another(tmp_path, kind, way):
    """Another sample in the middle of the row moves its own logits and no others."""
    model, lengths = model_of(kind), (40, 600, 30, 2, 50)
    way_of(model, way)
    samples = samples_of(lengths, seed=1)

    def logits(chosen):
        inputs = Collator(True, 0)(chosen)
        own = {"input_ids": inputs["input_ids"], "position_ids": inputs["position_ids"]}
        if way == "stretches":
            own |= attention.rows_apart(model, inputs["lengths"], inputs["ends"])
        return model(**own, use_cache=False).logits[0].split(list(lengths))

    before = logits([samples[at] for at in range(5)])
    for changed in range(5):
        other = samples_of(lengths, seed=2)[changed]
        after = logits([other if at == changed else samples[at] for at in range(5)])
        for at in range(5):
            moved = float((after[at] - before[at]).abs().max())
            assert moved > 0.1 if at == changed else moved < 1e-4, (changed, at)


def test_what_would_let_samples_see_one_another_is_found_out(monkeypatch, capsys):
    """A model that ignores where its samples begin is padded instead, and that is said."""
    model = model_of("qwen2")
    forward = model.forward

    def heedless(*args, position_ids=None, stretches=None, attention_mask=None, **kwargs):
        return forward(*args, **kwargs)

    monkeypatch.setattr(model, "forward", heedless)
    assert choose_packing(model, keys_of(max_length=64)) == "none"
    assert "see one another" in capsys.readouterr().out
    assert model.config._attn_implementation == "sdpa"


@pytest.mark.parametrize(
    ("kind", "max_length", "way"),
    [("windowed", 1024, "row"), ("windowed", 8, "stretches"), ("qwen2", 1024, "stretches")],
)
def test_windows_matter_only_to_samples_longer_than_they_are(kind, max_length, way):
    model = model_of(kind)
    if max_length == 8:  # the trial's samples are longer than that, and this is about the choice
        model.config.sliding_window = 64
        max_length = 64
    assert choose_packing(model, keys_of(max_length=max_length)) == way


def test_neighbours_share_a_mask_up_to_a_length():
    found = attention.stretches([25, 100, 20, 150, 5], torch.device("cpu"))
    assert [(s.start, s.end) for s in found] == [(0, 125), (125, 145), (145, 295), (295, 300)]
    assert [s.mask is None for s in found] == [False, True, True, True]
    mask = found[0].mask[0, 0]
    assert mask[24, 0] and mask[25, 25] and not mask[25, 24] and not mask[0, 1]


def test_elsewhere_a_call_costs_more_and_they_are_longer():
    found = attention.stretches([100, 400, 20, 600, 5], torch.device("meta"))
    assert [(s.start, s.end) for s in found] == [(0, 500), (500, 520), (520, 1120), (1120, 1125)]


@pytest.mark.parametrize(("samples", "batch", "micro"), [(20, 8, 4), (21, 8, 3), (5, 8, 8)])
@pytest.mark.parametrize("processes", [1, 2, 3])
def test_every_sample_is_in_one_step_of_an_epoch(samples, batch, micro, processes):
    orders = [Order(samples, batch, micro, 7, at, processes) for at in range(processes)]
    for epoch in range(2):
        for order in orders:
            order.set_epoch(epoch)
        by_step = list(zip(*(order.steps() for order in orders), strict=True))
        for micro_batches in by_step:  # all take the same number, or one would wait for ever
            assert len({len(of_process) for of_process in micro_batches}) == 1
        seen = [n for step in by_step for mine in step for some in mine for n in some]
        assert sorted(n for n in seen if n != BLANK) == list(range(samples))
        assert [len(list(order)) for order in orders] == [len(order) for order in orders]
    assert list(orders[0]) != list(Order(samples, batch, micro, 8, 0, processes))


def test_packing_and_padding_train_to_the_same_loss(tmp_path):
    from tests.unit.training.small import losses

    packed = train_small(tmp_path / "a", "llama", learning_rate=1e-5)
    padded = train_small(tmp_path / "b", "llama", learning_rate=1e-5, packing=False)
    assert losses(packed) == pytest.approx(losses(padded), abs=1e-3)
    assert packed.facts["padding"] == 0 < padded.facts["padding"] < 1
    assert packed.facts["tokens"] == padded.facts["tokens"]
    assert (packed.report["packing"], padded.report["packing"]) == ("stretches", "none")


def test_a_row_is_not_spread_over_all_gpus_that_a_process_sees(tmp_path, monkeypatch):
    """transformers would, cutting the batch where no sample ends."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    state = StateFolder(tmp_path / "state", {})
    samples, keys = drawn_samples(8), keys_of()
    attempt = Attempt(
        load=model_of,
        samples=samples,
        held_out=None,
        state=state,
        keys=keys,
        device="cuda",
        seed=0,
        padding_token=0,
        score=None,
        best_by=("loss", False),
        tensorboard_folder=tmp_path,
    )
    arguments = attempt.arguments(4, "float32", checkpoints=False)
    assert (arguments.n_gpu, arguments.train_batch_size) == (1, 4)
    assert replace(attempt, device="cpu").arguments(4, "float32", checkpoints=False).n_gpu == 0
