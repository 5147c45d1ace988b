"""Timings: turns are taken, warm-ups do not count, and what is timed is greedy generation."""

import torch

from tests.tiny_models import base_model
from tests.unit.chunked.reference import fresh_ids
from workflow_scripts.evaluation.latency import (
    WARM_UPS,
    batch_left_padded,
    time_greedy_generation,
    time_interleaved,
)


def test_variants_take_turns_and_warm_ups_are_left_out():
    calls = []

    def variant(name):
        def run():
            calls.append(name)
            return len(calls), 0.5

        return run

    timings = time_interleaved({"a": variant("a"), "b": variant("b")}, rounds=3)
    assert calls == ["a", "b"] * (3 + WARM_UPS)
    assert timings["a"]["prefill_seconds"] == [3, 5, 7]
    assert timings["b"]["token_seconds"] == [0.5] * 3


def test_what_is_timed_is_greedy_generation():
    """The tokens it feeds itself are those that `generate` writes for the same padded batch."""
    model = base_model("qwen2", 3)
    rows = [list(map(int, fresh_ids(1, size)[0])) for size in (4, 7)]

    def tokenizer(text):
        return {"input_ids": rows[int(text)]}

    (batch,) = batch_left_padded(tokenizer, ["0", "1"], 2, "cpu")
    fed = []
    model.register_forward_pre_hook(
        lambda _m, args, kwargs: fed.append((args or (kwargs.get("input_ids"),))[0]),
        with_kwargs=True,
    )
    reading, writing = time_greedy_generation(model, [batch], new_tokens=4)
    assert reading > 0 and writing > 0
    written = torch.cat(fed[1:], dim=1)
    ids, mask = batch
    expected = model.generate(
        ids, attention_mask=mask, max_new_tokens=3, do_sample=False, eos_token_id=None
    )
    assert torch.equal(written, expected[:, ids.shape[1] :])
