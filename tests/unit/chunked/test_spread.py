"""Test running chunk i on device i with the multi-GPU code; every device here is the CPU."""

import pytest
import torch
from transformers import DynamicCache, StaticCache

from tests.tiny_models import PLAN, base_model, chunked_model
from tests.unit.chunked.reference import assert_equal, compute_reference_logits, fresh_ids

THREE = {"num_layers_per_chunk": 2, "num_chunks": 3, "use_adapters": False}
THREE["aggregation_mode"] = "mean"


@pytest.mark.parametrize(("keys", "devices"), [(PLAN, 2), (THREE, 2), (THREE, 3)])
@pytest.mark.parametrize("execution", ["fused", "loop"])
@torch.inference_mode()
def test_spread_model_and_cache(keys, devices, execution):
    base = base_model("qwen3", 8)
    model = chunked_model(base, chunk_execution=execution, **keys)
    model.spread(["cpu"] * devices)
    ids = fresh_ids(2, 7)
    expected = compute_reference_logits(base, model, ids)
    assert_equal(model(ids).logits, expected)
    assert model.model.layers.fused == (execution == "fused")
    fixed = StaticCache(config=model.config, max_cache_len=7)
    for cache in (DynamicCache(), fixed) if execution == "fused" else [DynamicCache()]:
        steps = [model(ids[:, :4], past_key_values=cache).logits]
        steps += [model(ids[:, t : t + 1], past_key_values=cache).logits for t in (4, 5, 6)]
        assert_equal(torch.cat(steps, dim=1), expected)
