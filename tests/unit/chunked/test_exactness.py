"""A chunked model gives the logits of the plain reference, whatever way it is run."""

import itertools

import pytest
import torch
from transformers import DynamicCache

from tests.tiny_models import FAMILIES, PLAN, base_model, chunked_model
from tests.unit.chunked.reference import assert_equal, fresh_ids, padded, reference_logits

PLANS = {
    "sequential": {"num_layers_per_chunk": 2},
    "uniform": {"num_layers_per_chunk": 4},
    "sequential_with_first_layer": {"num_layers_per_chunk": 7},
    "uniform_with_first_layer": {"num_layers_per_chunk": 1},
    "sequential_with_shared_start": {"num_layers_per_chunk": 2},
    "uniform_with_shared_start": {"num_layers_per_chunk": 2},
    "sequential_with_shared_start_and_end": {"num_layers_per_chunk": 2, "num_chunks": 3},
    "uniform_with_shared_start_and_end": {"num_layers_per_chunk": 3, "num_chunks": 2},
    "prune": {"layers_to_prune": [1, 4, 8]},
}
LAYERS = 8


@pytest.mark.parametrize("execution", ["fused", "loop"])
@torch.no_grad()
def test_a_model_that_is_rearranged_is_the_one_that_is_made_in_the_plan(execution):
    keys = {"use_adapters": False, "aggregation_mode": "residual", "chunk_execution": execution}
    base = base_model("qwen2", LAYERS)
    model = chunked_model(base, num_chunks=0, num_layers_per_chunk=0, **keys)
    ids = fresh_ids(2, 9)
    unchanged = model(ids).logits
    for mode in PLANS:
        made = chunked_model(base, chunking_mode=mode, **PLANS[mode], **keys)
        model.model.rearrange(made.config.plan())
        assert_equal(model(ids).logits, made(ids).logits)
        assert_equal(model(ids).logits, reference_logits(base, made, ids))
    model.model.rearrange(model.config.plan())
    assert torch.equal(model(ids).logits, unchanged)


@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_the_unchanged_plan_is_the_base_model_to_the_last_bit(family):
    base = base_model(family, 4)
    model = chunked_model(base, num_chunks=0, num_layers_per_chunk=0)
    ids, mask = fresh_ids(3, 9), padded(9, "left")
    assert torch.equal(model(ids).logits, base(ids).logits)
    assert torch.equal(
        model(ids, attention_mask=mask).logits, base(ids, attention_mask=mask).logits
    )
    assert torch.equal(
        model.generate(ids, max_new_tokens=4, do_sample=False),
        base.generate(ids, max_new_tokens=4, do_sample=False),
    )


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("execution", ["fused", "loop"])
@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_padding_and_cache(family, execution, attention, side):
    """At once, one token at a time, and in blocks; a row's result is as if it stood alone."""
    base = base_model(family, 6, attention)
    model = chunked_model(base, **PLAN, chunk_execution=execution)
    ids, mask = fresh_ids(3, 11), padded(11, side)
    expected = reference_logits(base, model, ids, mask)
    positions = (mask.cumsum(-1) - 1).clamp(min=0)

    def run(cache, start, end):
        return model(
            ids[:, start:end],
            attention_mask=mask[:, :end],
            position_ids=positions[:, start:end],
            past_key_values=cache,
            use_cache=cache is not None,
        ).logits

    assert_equal(run(None, 0, 11), expected, mask)
    for cuts in ([0, 5, *range(6, 12)], [0, 4, 9, 11]):
        cache = DynamicCache(config=model.config)
        pieces = [run(cache, start, end) for start, end in itertools.pairwise(cuts)]
        assert_equal(torch.cat(pieces, dim=1), expected, mask)
    assert cache.get_seq_length() == 11


@pytest.mark.parametrize("execution", ["fused", "loop"])
@torch.no_grad()
def test_beam_search_reorders_the_cache(execution):
    """Each beam's next token is the best by logits computed afresh, without any cache."""
    base = base_model("qwen2", 6)
    model = chunked_model(base, num_layers_per_chunk=2, num_chunks=3, chunk_execution=execution)
    ids = fresh_ids(2, 5)
    settings = {"max_new_tokens": 6, "num_beams": 3, "do_sample": False, "eos_token_id": None}
    with_cache = model.generate(ids, use_cache=True, **settings)
    without = model.generate(ids, use_cache=False, **settings)
    assert torch.equal(with_cache, without)


@pytest.mark.parametrize("execution", ["fused", "loop"])
@torch.no_grad()
def test_hidden_states_are_those_of_the_main_stream(execution):
    """The embedding, one state behind each shared layer and one behind all chunks; the last is normed."""
    base = base_model("qwen2", 6)
    model = chunked_model(base, **PLAN, chunk_execution=execution)
    states = model(fresh_ids(1, 4), output_hidden_states=True).hidden_states
    assert len(states) == 1 + len(model.config.plan().start) + 1 + len(model.config.plan().end)
