"""Chunks spread over devices, by the code that GPUs run: here the processor several times, and shapes on meta."""

import copy

import pytest
import torch
from transformers import AutoModelForCausalLM, DynamicCache, StaticCache

from tests.tiny_models import PLAN, base_model, chunked_model
from tests.unit.chunked.reference import assert_equal, fresh_ids, reference_logits

PLANS = [
    PLAN,
    {"num_layers_per_chunk": 2, "num_chunks": 3, "aggregation_mode": "mean", "use_adapters": False},
    {"num_layers_per_chunk": 1, "num_chunks": 4, "aggregation_mode": "last"},
]


@pytest.mark.parametrize("family", ["qwen2", "qwen3"])
@pytest.mark.parametrize("keys", PLANS)
@pytest.mark.parametrize("devices", [2, 3])
@pytest.mark.parametrize("execution", ["fused", "loop"])
@torch.inference_mode()
def test_spread_is_the_reference_with_and_without_a_cache(family, keys, devices, execution):
    base = base_model(family, 8)
    model = chunked_model(base, chunk_execution=execution, **keys)
    over = copy.deepcopy(model)
    over.spread(["cpu"] * devices)
    ids = fresh_ids(2, 7)
    expected = reference_logits(base, model, ids)
    assert_equal(over(ids).logits, expected)
    assert over.model.layers.run.fused == (execution == "fused")
    if execution == "loop":
        assert torch.equal(over(ids).logits, model(ids).logits)
    for cache in (DynamicCache(), StaticCache(config=over.config, max_cache_len=7)):
        if execution == "loop" and isinstance(cache, StaticCache):
            continue
        steps = [over(ids[:, :4], past_key_values=cache).logits]
        steps += [over(ids[:, at : at + 1], past_key_values=cache).logits for at in (4, 5, 6)]
        assert_equal(torch.cat(steps, dim=1), expected)


@torch.no_grad()
def test_spread_model_can_be_moved_saved_and_put_back(tmp_path):
    model = chunked_model(base_model("qwen2", 8), **PLAN)
    over, ids = copy.deepcopy(model), fresh_ids(2, 5)
    expected = model(ids).logits
    over.spread(["cpu", "cpu"])
    over(ids)
    over.double().float()
    assert_equal(over(ids).logits, expected)
    over.save_pretrained(tmp_path)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert torch.equal(loaded(ids).logits, model(ids).logits)
    over.spread(["cpu"])
    assert torch.equal(over(ids).logits, model(ids).logits)


@pytest.mark.parametrize("keys", PLANS)
@pytest.mark.parametrize("execution", ["fused", "loop"])
def test_shapes_without_memory(keys, execution):
    model = chunked_model(base_model("qwen2", 8), chunk_execution=execution, **keys)
    model.spread(["meta", "meta"])
    out = model(torch.zeros(2, 5, dtype=torch.long, device="meta"))
    assert out.logits.shape == (2, 5, model.config.vocab_size)


@pytest.mark.gpus(2)
@pytest.mark.parametrize("execution", ["fused", "loop"])
@torch.inference_mode()
def test_two_gpus_give_what_one_gives(execution):
    base = base_model("qwen2", 8)
    model = chunked_model(base, chunk_execution=execution, **PLAN)
    ids = fresh_ids(2, 5)
    expected = reference_logits(base, model, ids)
    model.spread([0, 1])
    assert torch.allclose(model(ids.cuda()).logits.cpu(), expected, atol=1e-4)
