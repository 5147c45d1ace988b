"""torch.compile takes a decode step whole, without a graph break."""

import pytest
import torch
from transformers import DynamicCache, StaticCache

from tests.tiny_models import PLAN, base_model, chunked_model
from tests.unit.chunked.reference import fresh_ids


@pytest.mark.parametrize("cache", ["static", "dynamic", None])
@torch.no_grad()
def test_a_decode_step_compiles_to_one_graph(cache):
    """After a plain step that filled the cache, and without one from the start."""
    model = chunked_model(base_model("qwen2", 6), **PLAN)
    ids = fresh_ids(1, 6)
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    if cache is None:
        torch.testing.assert_close(compiled(ids).logits, model(ids).logits, atol=1e-5, rtol=1e-5)
        return
    expected = model(ids).logits
    fixed = StaticCache(config=model.config, max_cache_len=16)
    cache = fixed if cache == "static" else DynamicCache(config=model.config)
    model(ids[:, :4], past_key_values=cache, use_cache=True)
    steps = [
        compiled(ids[:, t : t + 1], past_key_values=cache, use_cache=True).logits for t in (4, 5)
    ]
    torch.testing.assert_close(torch.cat(steps, dim=1), expected[:, 4:], atol=1e-5, rtol=1e-5)
