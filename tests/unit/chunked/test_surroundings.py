"""What others do to a model after it ran once: replace, hook, share, prune. Nothing is passed by."""

import weakref

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from torch.nn.utils import parametrize, prune
from transformers import DynamicCache

from tests.tiny_models import PLAN, base_model, chunked_model
from tests.unit.chunked.reference import fresh_ids, reference_logits
from workflow_scripts.core.errors import UserError


def fresh(**keys):
    return chunked_model(base_model("qwen2", 6), **PLAN, **keys)


def logits(model, ids, way):
    model.config.chunk_execution = way  # of a model with adapters its base's
    with torch.no_grad():
        return model(ids).logits


def compute_both_ways(model, ids):
    """Return the logits of fused layers, which are those of a loop over them."""
    fused = logits(model, ids, "fused")
    assert torch.allclose(fused, logits(model, ids, "loop"), atol=1e-5)
    return fused


class Twice(nn.Module):
    def forward(self, x):
        return 2 * x


def replace_mlp(model):
    model.model.layers[2].mlp = nn.Sequential(model.model.layers[2].mlp, Twice())


def replace_layer(model):
    slot = model.model.layers[3].self_attn.layer_idx  # its place in the cache
    model.model.layers[3] = base_model("qwen2", 6).model.layers[3]
    model.model.layers[3].self_attn.layer_idx = slot


def replace_adapter(model):
    other = fresh().model.wrapped_chunk_layers.adapters["2"]
    model.model.wrapped_chunk_layers.adapters["2"] = other


def replace_wrapper(model):
    model.model.wrapped_chunk_layers = fresh().model.wrapped_chunk_layers


def new_bias(model):
    model.model.layers[2].mlp.down_proj.bias = nn.Parameter(torch.randn(32))


def no_bias(model):
    model.model.layers[2].self_attn.q_proj.bias = None


def pruned_weight(model):
    prune.l1_unstructured(model.model.layers[4].mlp.up_proj, "weight", 0.5)


def parametrised_weight(model):
    parametrize.register_parametrization(model.model.layers[4].mlp.up_proj, "weight", Twice())


CHANGES = (replace_mlp, replace_layer, replace_adapter, replace_wrapper, new_bias, no_bias)


@pytest.mark.parametrize("change", [*CHANGES, pruned_weight, parametrised_weight])
def test_what_is_replaced_after_a_forward_is_noticed(change):
    model, ids = fresh(), fresh_ids(2, 5)
    before = logits(model, ids, "fused")
    change(model)
    after = compute_both_ways(model, ids)
    assert not torch.allclose(before, after, atol=1e-3)


@pytest.mark.parametrize("place", ["", ".mlp", ".mlp.down_proj"])
def test_hooks_set_before_the_first_forward_fire(place):
    model, ids = fresh(), fresh_ids(2, 5)
    module = model.get_submodule("model.layers.2" + place)
    module.register_forward_hook(lambda _m, _a, out: 2 * out)
    compute_both_ways(model, ids)


def test_peft_may_train_a_norm_in_full_and_switch_it_off():
    model, ids = fresh(), fresh_ids(2, 5)
    plain = logits(model, ids, "fused")
    config = LoraConfig(
        target_modules=["q_proj"], modules_to_save=["input_layernorm"], task_type="CAUSAL_LM"
    )
    wrapped = get_peft_model(model, config)
    with torch.no_grad():
        for name, parameter in wrapped.named_parameters():
            if "modules_to_save" in name:
                parameter.mul_(1.5)
    trained = compute_both_ways(wrapped, ids)
    assert not torch.allclose(trained, plain, atol=1e-3)
    model.config.chunk_execution = "fused"
    with wrapped.disable_adapter(), torch.no_grad():
        assert torch.allclose(wrapped(ids).logits, plain, atol=1e-5)


def test_a_weight_used_twice_stays_one_weight():
    model, ids = fresh(), fresh_ids(2, 5)
    model.model.layers[3].mlp.down_proj.weight = model.model.layers[2].mlp.down_proj.weight
    logits(model, ids, "fused")
    with torch.no_grad():
        model.model.layers[2].mlp.down_proj.weight.mul_(2)
    compute_both_ways(model, ids)


def test_moving_a_model_lets_go_of_its_old_memory():
    model, ids = fresh(), fresh_ids(2, 5)
    logits(model, ids, "fused")
    old = weakref.ref(model.model.stages[1].depths[0].stacks["qkv"].weight)
    model.to(torch.float64)
    assert old() is None


def test_evaluation_in_mixed_precision_keeps_the_stream_wide():
    model, ids = fresh(aggregation_mode="mean"), fresh_ids(3, 11)
    exact = logits(model, ids, "loop")
    with torch.autocast("cpu", torch.bfloat16):
        errors = [
            float((logits(model, ids, way).float() - exact).square().mean().sqrt())
            for way in ("fused", "loop")
        ]
    assert errors[0] < 1.5 * errors[1]


@torch.no_grad()
def test_a_pruned_model_counts_its_cache_from_the_first_layer_that_is_left():
    base = base_model("llama", 5)
    model = chunked_model(base, chunking_mode="prune", layers_to_prune=[1, 4])
    ids, cache = fresh_ids(1, 6), DynamicCache()
    pieces = [model(ids[:, t : t + 1], past_key_values=cache, use_cache=True) for t in range(6)]
    ours = torch.cat([piece.logits for piece in pieces], dim=1)
    assert torch.allclose(ours, reference_logits(base, model, ids), atol=1e-4)


def test_a_teacher_needs_no_gradient_and_no_cache():
    model, ids = fresh(distillation=True).train(), fresh_ids(2, 5)
    seen = []
    # Layer 2 is called by itself in the teacher's pass; fused, it is not called at all.
    model.config.chunk_execution = "fused"
    original = model.model.layers[2].forward
    model.model.layers[2].forward = lambda *a, **k: (
        seen.append(torch.is_grad_enabled()),
        original(*a, **k),
    )[1]
    model(ids, labels=ids)
    assert seen == [False]
    with pytest.raises(UserError, match="past_key_values was given to a training step"):
        model(ids, labels=ids, past_key_values=DynamicCache())
