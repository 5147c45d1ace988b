"""Test that a chunked model has the logits of the reference with padding, caches, blocks of tokens and beam search."""

import itertools

import pytest
import torch
from transformers import DynamicCache

from tests.tiny_models import FAMILIES, PLAN, base_model, chunked_model, make_tiny_model
from tests.unit.chunked.reference import (
    assert_equal,
    compute_reference_logits,
    fresh_ids,
    make_padding_mask,
)

TOKENS = 8
PLANS = {
    "uniform": PLAN,
    "sequential": PLAN | {"chunking_mode": "sequential_with_shared_start_and_end"},
    "four chunks": {"num_layers_per_chunk": 1, "num_chunks": 4},
    "prune": {"chunking_mode": "prune", "layers_to_prune": [1, 4]},
    "unchanged": {"num_layers_per_chunk": 0, "num_chunks": 0},
}
# `windowed` is a Mistral with a sliding window of nine tokens in all layers.
RUNS = [(kind, "uniform", "loop") for kind in (*FAMILIES, "eager")]
RUNS += [(kind, "uniform", "fused") for kind in ("eager", "mistral", "windowed")]
RUNS += [(kind, plan, "fused") for kind in FAMILIES for plan in PLANS]


@pytest.mark.parametrize(("kind", "plan", "execution"), RUNS)
@torch.no_grad()
def test_padding_and_cache(kind, plan, execution):
    """Run all tokens at once, token by token and in blocks; a row's logits do not depend on other rows."""
    base = make_tiny_model(kind, layers=6, seed=None)
    keys = {"chunk_execution": "loop"} if execution == "loop" else {}
    model = chunked_model(base, **PLANS[plan], **keys)
    tokens = 14 if kind == "windowed" else TOKENS
    ids = fresh_ids(3, tokens)
    for side in ("left", "right"):
        mask = make_padding_mask(tokens, side)
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        expected = compute_reference_logits(base, model, ids, mask)

        def run(cache, start, end, mask=mask, positions=positions):
            return model(
                ids[:, start:end],
                attention_mask=mask[:, :end],
                position_ids=positions[:, start:end],
                past_key_values=cache,
                use_cache=cache is not None,
            ).logits

        assert_equal(run(None, 0, tokens), expected, mask)
        for cuts in ([0, 3, *range(4, tokens + 1)], [0, 4, tokens]):
            cache = DynamicCache(config=model.config)
            pieces = [run(cache, start, end) for start, end in itertools.pairwise(cuts)]
            assert_equal(torch.cat(pieces, dim=1), expected, mask)
        if plan == "unchanged":
            plain = base(ids, attention_mask=mask, position_ids=positions).logits
            assert torch.equal(run(None, 0, tokens), plain)
    has_chunks = bool(model.config.plan().chunks)
    assert model.model.layers.fused == (execution == "fused" and has_chunks)


@pytest.mark.parametrize("execution", ["fused", "loop"])
@torch.no_grad()
def test_beam_search_and_hidden_states(execution):
    """Beam search reorders the cache; there is a state after each shared layer and one after all chunks."""
    base = base_model("qwen2", 6)
    model = chunked_model(base, num_layers_per_chunk=2, num_chunks=2, chunk_execution=execution)
    ids = fresh_ids(2, 5)
    settings = {"max_new_tokens": 6, "num_beams": 3, "do_sample": False, "eos_token_id": None}
    cached, fresh = (model.generate(ids, use_cache=use, **settings) for use in (True, False))
    assert torch.equal(cached, fresh)
    assert len(model(ids, output_hidden_states=True).hidden_states) == 4
