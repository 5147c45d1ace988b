"""Packed rows: the loss and the gradients of padded batches, and no sample sees another."""

import pytest
import torch
from transformers import TrainingArguments

from tests.unit.training.small import (
    adapted,
    drawn_samples,
    keys_of,
    losses,
    model_of,
    samples_of,
    train_small,
)
from workflow_scripts.training.attention import choose_packing, packing_arguments
from workflow_scripts.training.lesson import Lesson
from workflow_scripts.training.packing import BLANK, Collator, Order
from workflow_scripts.training.run import _training_arguments
from workflow_scripts.training.state import StateFolder
from workflow_scripts.training.trainer import PackedTrainer

# The shortest there are, some that share a mask, some longer than any shared one.
LENGTHS = (2, 200, 7, 2, 31, 13, 513, 90)
COUNTED_FROM = 5
KINDS = ("qwen2", "qwen3", "llama", "gpt_neox", "fused", "loop")


def way_of(model, way: str) -> bool:
    """Whether its rows are packed; by the trainer's own choice unless it is to be padded."""
    inner = getattr(model, "get_base_model", lambda: model)()  # before adapters, as in a training
    chosen = choose_packing(
        inner, keys_of(packing=way != "padded", compile=way == "row", max_length=1024)
    )
    assert chosen == {"padded": "none"}.get(way, way)
    return chosen != "none"


def loss_and_gradients(model, way: str, folder, samples, **arguments):
    packing = way_of(model, way)
    trainer = PackedTrainer(
        model,
        TrainingArguments(output_dir=str(folder), use_cpu=True, report_to=[], **arguments),
        lesson=Lesson(samples, keys_of(), 0, {}),
        order=Order(len(samples), len(samples), len(samples), 0),
        collator=Collator(packing, 0),
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


EAGER, SAVING = {"attn_implementation": "eager"}, {"activation_checkpointing": True}


@pytest.mark.parametrize(
    ("kind", "way", "changes", "options"),
    [
        *((kind, "row", EAGER, {}) for kind in ("qwen2", "gpt_neox", "fused")),
        # Their windows are narrower than samples are long, which only transformers' masks know of.
        *((kind, "row", {}, {}) for kind in ("windowed", "some_windowed")),
        *((kind, "stretches", {}, SAVING) for kind in ("llama", "fused")),
    ],
)
def test_same_with_eager_attention_windows_and_checkpointing(tmp_path, kind, way, changes, options):
    samples = samples_of(LENGTHS[:6], seed=3)
    packed = loss_and_gradients(model_of(kind, **changes), way, tmp_path, samples, **options)
    assert_same(packed, loss_and_gradients(model_of(kind), "padded", tmp_path, samples))


@pytest.mark.parametrize("kind", ["qwen2", "fused"])
def test_same_with_adapters(tmp_path, kind):
    samples = samples_of(LENGTHS[:6], seed=3)
    packed, padded = (
        loss_and_gradients(adapted(model_of(kind)), way, tmp_path, samples)
        for way in ("stretches", "padded")
    )
    assert all(float(g.abs().max()) > 0 for n, g in packed[1].items() if "lora_A" in n)
    assert_same(packed, padded)


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
            own |= packing_arguments(model, inputs["lengths"])
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
    packed = train_small(tmp_path / "a", "llama", learning_rate=1e-5)
    padded = train_small(tmp_path / "b", "llama", learning_rate=1e-5, packing=False)
    assert losses(packed) == pytest.approx(losses(padded), abs=1e-3)
    assert packed.facts["padding"] == 0 < padded.facts["padding"] < 1
    assert packed.facts["tokens"] == padded.facts["tokens"]
    assert (packed.report["packing"], padded.report["packing"]) == ("stretches", "none")


def test_a_row_is_not_spread_over_all_gpus_that_a_process_sees(tmp_path, monkeypatch):
    """transformers would, cutting the batch where no sample ends."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    lesson, state = Lesson(drawn_samples(8), keys_of(), 0, {}), StateFolder(tmp_path / "s", {})
    arguments = _training_arguments(lesson, state, "cuda", 4, False)
    assert (arguments.n_gpu, arguments.train_batch_size) == (1, 4)
