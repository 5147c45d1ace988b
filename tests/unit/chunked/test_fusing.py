"""Test that fused layers have the gradients of a loop, and detect changes to the model between forward passes."""

import copy

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import nn

from tests.tiny_models import PLAN, base_model, chunked_model
from tests.unit.chunked.reference import fresh_ids


def make_model(**keys):
    return chunked_model(base_model("qwen2", 6), **PLAN, **keys)


def compute_logits(model, ids, execution="fused"):
    model.config.chunk_execution = execution  # with PEFT, the base's config
    with torch.no_grad():
        return model(ids).logits


def compute_both(model, ids):
    """Return the logits of fused layers, after checking that a loop has the same."""
    loop, fused = (compute_logits(model, ids, execution) for execution in ("loop", "fused"))
    assert torch.allclose(fused, loop, atol=1e-4)
    return fused


def compute_gradients(model, ids):
    model.zero_grad()
    model(ids, labels=ids, use_cache=False).loss.backward()
    parameters = model.named_parameters()
    return {name: p.grad.clone() for name, p in parameters if p.grad is not None}


def assert_same_gradients(first, second):
    assert first.keys() == second.keys()
    for name, gradient in first.items():
        scale = max(1e-2, float(second[name].abs().max()))
        assert float((gradient - second[name]).abs().max()) <= 1e-4 * scale, name


@pytest.mark.parametrize("execution", ["fused", "loop"])
def test_gradient_checkpointing(execution):
    model, ids = make_model(chunk_execution=execution).train(), fresh_ids(2, 7)
    plain = compute_gradients(model, ids)
    model.gradient_checkpointing_enable({"use_reentrant": False})
    model.enable_input_require_grads()
    assert_same_gradients(compute_gradients(model, ids), plain)


LINEAR = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


@pytest.mark.parametrize(
    "keys",
    [
        {"target_modules": ["v_proj"], "modules_to_save": ["wrapped_chunk_layers"]},
        {"target_modules": ["v_proj"], "modules_to_save": ["input_layernorm"]},
        {"target_modules": LINEAR},
        {"target_modules": ["q_proj"], "layers_to_transform": [2, 3]},
    ],
)
def test_low_rank_adapters(keys):
    model, ids = make_model(), fresh_ids(2, 6)
    plain = compute_both(model, ids)
    lora = LoraConfig(r=2, lora_alpha=4, init_lora_weights=False, task_type="CAUSAL_LM", **keys)
    adapted = get_peft_model(model, lora)
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if "modules_to_save" in name:
                parameter.mul_(1.5)
    gradients = []
    for execution in ("loop", "fused"):
        model.config.chunk_execution = execution
        gradients.append(compute_gradients(adapted, ids))
        with adapted.disable_adapter(), torch.no_grad():
            assert torch.allclose(adapted(ids).logits, plain, atol=1e-5)
    assert_same_gradients(*gradients)
    logits = compute_both(adapted, ids)
    assert not torch.allclose(logits, plain, atol=1e-3)
    merged = adapted.merge_and_unload(safe_merge=True)
    assert torch.allclose(compute_both(merged, ids), logits, atol=1e-4)


def test_autocast():
    """Under autocast, weights are float32, matmuls bfloat16 and gradients float32."""
    model, ids = make_model(aggregation_mode="mean"), fresh_ids(3, 11)
    exact, errors, gradients = compute_logits(model, ids, "loop"), [], []
    for execution in ("fused", "loop"):
        with torch.autocast("cpu", torch.bfloat16):
            logits = compute_logits(model, ids, execution)
            loss = model(ids, labels=ids).loss
        errors.append(float((logits.float() - exact).square().mean().sqrt()))
        model.zero_grad()
        loss.backward()  # outside autocast, as trainers do
        gradients.append(model.model.layers[3].mlp.down_proj.weight.grad.flatten())
    assert errors[0] < 1.5 * errors[1]
    assert gradients[0].dtype == torch.float32
    assert nn.functional.cosine_similarity(*gradients, dim=0) > 0.99


def replace_mlp(model):
    model.model.layers[2].mlp = nn.Sequential(model.model.layers[2].mlp, nn.Tanh())


def load_other(model):
    weights = {name: weight * 1.1 for name, weight in model.state_dict().items()}
    model.to(torch.float64).to(torch.float32).load_state_dict(weights, assign=True)


def share_weight(model):
    layers = model.model.layers
    layers[3].mlp.down_proj.weight = layers[2].mlp.down_proj.weight
    compute_logits(model, fresh_ids(1, 3))
    with torch.no_grad():
        layers[2].mlp.down_proj.weight.mul_(2)


@pytest.mark.parametrize("change", [replace_mlp, load_other, share_weight])
def test_change_after_forward(change):
    model, ids = make_model(), fresh_ids(2, 5)
    before = compute_both(model, ids)
    twin = copy.deepcopy(model)
    change(twin)
    assert not torch.allclose(before, compute_both(twin, ids), atol=1e-3)
    assert torch.equal(before, compute_both(model, ids))


@pytest.mark.parametrize("place", ["", ".mlp.down_proj"])
def test_hooks_fire(place):
    model, ids = make_model(), fresh_ids(2, 5)
    module = model.get_submodule("model.layers.2" + place)
    module.register_forward_hook(lambda _module, _inputs, out: 2 * out)
    compute_both(model, ids)
