"""Models whose layers are not the Llama family's, or see a window: cut, they are exact all the same."""

import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.tiny_models import chunked_model, put_in_hub, tiny_model
from tests.tiny_tokenizers import smallest_tokenizer
from tests.unit.chunked.reference import (
    added_weights,
    assert_equal,
    fresh_ids,
    padded,
    reference_logits,
    reference_loss,
)
from workflow_scripts.hub.load import load_model

# By kind, whether its chunks run as one; `windowed` is a Mistral of which all layers see nine tokens, of the rows of
# fourteen below.
KINDS = {"mistral": True, "windowed": True, "mixtral": False, "qwen3_moe": False}
BOTH_SIDES = {"num_layers_per_chunk": 2, "num_chunks": 2}
PLANS = {
    "uniform": BOTH_SIDES | {"aggregation_mode": "residual", "use_adapters": False},
    "sequential": BOTH_SIDES | {"chunking_mode": "sequential_with_shared_start_and_end"},
    "of one kind": {"num_layers_per_chunk": 1, "num_chunks": 5, "layers_before_chunks": 1},
    "prune": {"chunking_mode": "prune", "layers_to_prune": [1, 4]},
    "unchanged": {"num_layers_per_chunk": 0, "num_chunks": 0},
}
TOKENS = 14


def models_of(kind: str, plan: str):
    base = tiny_model(kind, layers=6, seed=None)
    return base, chunked_model(base, adapter_hidden_size=6, **PLANS[plan])


@torch.no_grad()
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_plain_loop_over_the_base_models_own_layers(kind, plan):
    base, model = models_of(kind, plan)
    ids = fresh_ids(3, TOKENS)
    for mask in (None, padded(TOKENS, "left"), padded(TOKENS, "right")):
        expected = reference_logits(base, model, ids, mask)
        positions = None if mask is None else (mask.cumsum(-1) - 1).clamp(min=0)
        found = model(ids, attention_mask=mask, position_ids=positions).logits
        assert_equal(found, expected, mask)
    assert model.model.layers.run.fused == (KINDS[kind] and bool(model.config.plan().chunks))
    if plan == "unchanged":
        assert torch.equal(model(ids).logits, base(ids).logits)


@torch.no_grad()
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("kind", KINDS)
def test_written_token_by_token_behind_a_prompt_it_is_the_same(kind, plan):
    base, model = models_of(kind, plan)
    ids = fresh_ids(2, TOKENS)
    expected = reference_logits(base, model, ids)
    out, found = model(ids[:, :5], use_cache=True), []
    found.append(out.logits)
    for at in range(5, TOKENS):
        out = model(ids[:, at : at + 1], past_key_values=out.past_key_values, use_cache=True)
        found.append(out.logits)
    assert_equal(torch.cat(found, 1), expected)
    written = model.generate(ids, max_new_tokens=4, do_sample=False, use_cache=True)
    assert torch.equal(
        written, model.generate(ids, max_new_tokens=4, do_sample=False, use_cache=False)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_what_it_learns_from_itself_is_what_the_formula_says(kind):
    learns = {"distillation": True, "logits_distillation": True}
    base = tiny_model(kind, layers=6, seed=None)
    model = chunked_model(base, **PLANS["uniform"], **learns).train()
    ids = fresh_ids(2, TOKENS)
    expected = reference_loss(base, model.config, added_weights(model), ids, ids)
    loss = model(ids, labels=ids).loss
    assert loss.item() == pytest.approx(expected.item(), rel=1e-4)
    loss.backward()


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_made_from_the_files_of_the_base_model_and_saved_again(kind, tmp_path):
    base = tiny_model(kind, layers=6, seed=None)
    manifest = put_in_hub(base, tmp_path / "base", smallest_tokenizer())
    keys = {"chunking_mode": "uniform_with_shared_start_and_end", **PLANS["uniform"]}
    where = {"device": "cpu", "dtype": "float32", "attention": "auto"}
    model = load_model(manifest, chunking=keys, **where).model
    ids = fresh_ids(2, TOKENS)
    expected = reference_logits(base, model, ids)
    assert_equal(model(ids).logits, expected)
    model.save_pretrained(tmp_path / "cut")
    again = AutoModelForCausalLM.from_pretrained(tmp_path / "cut")
    assert torch.equal(again(ids).logits, model(ids).logits)
