"""Chunk i on device i, by the code that GPUs run: here the CPU several times, and shapes on meta."""

import copy

import pytest
import torch
from accelerate.hooks import AlignDevicesHook, add_hook_to_module
from transformers import AutoModelForCausalLM, DynamicCache, StaticCache

from tests.tiny_models import PLAN, base_model, chunked_model
from tests.unit.chunked.reference import assert_equal, fresh_ids, reference_logits
from workflow_scripts.chunked.devices import chunk_device_map

PLANS = [
    PLAN,
    {"num_layers_per_chunk": 2, "num_chunks": 3, "aggregation_mode": "mean", "use_adapters": False},
    {"num_layers_per_chunk": 1, "num_chunks": 4, "aggregation_mode": "last"},
]


@pytest.mark.parametrize("keys", PLANS)
@pytest.mark.parametrize("devices", [2, 3])
@pytest.mark.parametrize("execution", ["fused", "loop"])
@torch.inference_mode()
def test_spread_is_the_reference_with_and_without_a_cache(keys, devices, execution):
    base = base_model("qwen3", 8)
    model = chunked_model(base, chunk_execution=execution, **keys)
    model.spread(["cpu"] * devices)
    ids = fresh_ids(2, 7)
    expected = reference_logits(base, model, ids)
    assert_equal(model(ids).logits, expected)
    assert model.model.layers.run.fused == (execution == "fused")
    caches = [DynamicCache()]
    if execution == "fused":
        caches.append(StaticCache(config=model.config, max_cache_len=7))
    for cache in caches:
        steps = [model(ids[:, :4], past_key_values=cache).logits]
        steps += [model(ids[:, t : t + 1], past_key_values=cache).logits for t in (4, 5, 6)]
        assert_equal(torch.cat(steps, dim=1), expected)


@pytest.mark.parametrize("execution", ["fused", "loop"])
def test_shapes_without_memory(execution):
    model = chunked_model(base_model("qwen2", 8), chunk_execution=execution, **PLAN)
    model.spread(["meta", "meta"])
    ids = fresh_ids(2, 5).to("meta")
    assert model(ids).logits.shape == (2, 5, model.config.vocab_size)


@torch.no_grad()
def test_spread_model_can_be_moved_saved_and_put_back(tmp_path):
    model = chunked_model(base_model("qwen2", 8), **PLAN)
    spread, ids = copy.deepcopy(model), fresh_ids(2, 5)
    expected = model(ids).logits
    spread.spread(["cpu", "cpu"])
    spread(ids)
    spread.double().float()
    assert_equal(spread(ids).logits, expected)
    spread.save_pretrained(tmp_path)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert torch.equal(loaded(ids).logits, expected)
    spread.spread(["cpu"])
    assert torch.equal(spread(ids).logits, expected)


@torch.no_grad()
def test_device_map_covers_all_and_hooks_of_accelerate_fire():
    """accelerate moves inputs to each layer's device by hooks, where a device map is given."""
    base = base_model("qwen2", 6)
    model = chunked_model(base, **PLAN)
    device_map = chunk_device_map(model.config, ["a", "b"])
    assert [device_map[f"model.layers.{n}"] for n in range(6)] == ["a", "a", "b", "a", "b", "a"]
    for name, _ in model.named_parameters():
        assert any(name.startswith(key + ".") for key in device_map), name
    moved = []

    class Noted(AlignDevicesHook):
        def pre_forward(self, module, *args, **kwargs):
            moved.append(module)
            return super().pre_forward(module, *args, **kwargs)

    for layer in model.model.layers:
        add_hook_to_module(layer, Noted(execution_device="cpu"))
    ids = fresh_ids(2, 5)
    assert_equal(model(ids).logits, reference_logits(base, model, ids))
    assert {id(module) for module in moved} == {id(layer) for layer in model.model.layers}


@pytest.mark.gpus(2)
@pytest.mark.parametrize("execution", ["fused", "loop"])
@torch.inference_mode()
def test_two_gpus_give_what_one_gives(execution, tmp_path):
    base = base_model("qwen2", 8)
    model = chunked_model(base, chunk_execution=execution, **PLAN)
    ids = fresh_ids(2, 5)
    expected = reference_logits(base, model, ids)
    model.save_pretrained(tmp_path)
    device_map = chunk_device_map(model.config, [0, 1])
    placed = AutoModelForCausalLM.from_pretrained(tmp_path, device_map=device_map)
    model.spread([0, 1])
    for each in (model, placed):
        assert torch.allclose(each(ids.cuda()).logits.cpu(), expected, atol=1e-4)
