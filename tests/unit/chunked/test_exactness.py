"""A chunked model gives the logits of the plain reference, whatever way it is run."""

import itertools

import pytest
import torch
from transformers import DynamicCache

from tests.tiny_models import FAMILIES, PLAN, chunked_model, tiny_model
from tests.unit.chunked.reference import assert_equal, fresh_ids, padded, reference_logits

TOKENS = 14
# By kind, whether its chunks run as one; `windowed` is a Mistral of which all layers see nine tokens.
KINDS = dict.fromkeys((*FAMILIES, "eager", "mistral", "windowed"), True)
KINDS |= {"mixtral": False, "qwen3_moe": False}
PLANS = {
    "uniform": PLAN,
    "sequential": PLAN | {"chunking_mode": "sequential_with_shared_start_and_end"},
    "moved": {"num_layers_per_chunk": 1, "num_chunks": 5, "layers_before_chunks": 1},
    "prune": {"chunking_mode": "prune", "layers_to_prune": [1, 4]},
    "unchanged": {"num_layers_per_chunk": 0, "num_chunks": 0},
}
RUNS = [(kind, "uniform", "loop") for kind in (*FAMILIES, "eager")]
RUNS += [(kind, plan, "fused") for kind in KINDS for plan in PLANS]


@pytest.mark.parametrize(("kind", "plan", "execution"), RUNS)
@torch.no_grad()
def test_padding_and_cache(kind, plan, execution):
    """At once, one token at a time, and in blocks; a row's result is as if it stood alone."""
    base = tiny_model(kind, layers=6, seed=None)
    model = chunked_model(base, **PLANS[plan], chunk_execution=execution)
    ids = fresh_ids(3, TOKENS)
    for side in ("left", "right"):
        mask = padded(TOKENS, side)
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        expected = reference_logits(base, model, ids, mask)

        def run(cache, start, end, mask=mask, positions=positions):
            return model(
                ids[:, start:end],
                attention_mask=mask[:, :end],
                position_ids=positions[:, start:end],
                past_key_values=cache,
                use_cache=cache is not None,
            ).logits

        assert_equal(run(None, 0, TOKENS), expected, mask)
        for cuts in ([0, 5, *range(6, TOKENS + 1)], [0, 4, 9, TOKENS]):
            cache = DynamicCache(config=model.config)
            pieces = [run(cache, start, end) for start, end in itertools.pairwise(cuts)]
            assert_equal(torch.cat(pieces, dim=1), expected, mask)
        if plan == "unchanged":
            plain = base(ids, attention_mask=mask, position_ids=positions).logits
            assert torch.equal(run(None, 0, TOKENS), plain)
    has_chunks = bool(model.config.plan().chunks)
    assert model.model.layers.run.fused == (execution == "fused" and KINDS[kind] and has_chunks)


@pytest.mark.parametrize("execution", ["fused", "loop"])
@torch.no_grad()
def test_generation_by_beams_needs_no_cache_and_states_are_those_of_the_stages(execution):
    """A cache is reordered by beams; a state stands behind each shared layer and one behind all chunks."""
    base = tiny_model("qwen2", layers=6, seed=None)
    model = chunked_model(base, num_layers_per_chunk=2, num_chunks=2, chunk_execution=execution)
    ids = fresh_ids(2, 5)
    settings = {"max_new_tokens": 6, "num_beams": 3, "do_sample": False, "eos_token_id": None}
    cached, fresh = (model.generate(ids, use_cache=use, **settings) for use in (True, False))
    assert torch.equal(cached, fresh)
    assert len(model(ids, output_hidden_states=True).hidden_states) == 4
