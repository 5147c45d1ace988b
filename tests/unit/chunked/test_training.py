"""Training: the same gradients however the model is run, and what moves weights is noticed."""

import copy

import pytest
import torch
from peft import LoraConfig, get_peft_model

from tests.tiny_models import FAMILIES, PLAN, base_model, chunked_model
from tests.unit.chunked.reference import fresh_ids, padded


def twins(family="qwen2", **keys):
    """The same model twice: fused, and as the plain loop."""
    base = base_model(family, 6)
    fused = chunked_model(base, **PLAN, **keys)
    loop = copy.deepcopy(fused)
    loop.config.chunk_execution = "loop"
    return fused, loop


def gradients(model, ids, mask=None):
    model.zero_grad()
    labels = ids if mask is None else ids.masked_fill(mask == 0, -100)
    loss = model(ids, attention_mask=mask, labels=labels, use_cache=False).loss
    loss.backward()
    return loss.detach(), {
        name: parameter.grad.clone()
        for name, parameter in model.named_parameters()
        if parameter.grad is not None
    }


def assert_same_gradients(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, gradient in ours.items():
        scale = max(1e-2, float(theirs[name].abs().max()))
        assert float((gradient - theirs[name]).abs().max()) <= 1e-4 * scale, name


@pytest.mark.parametrize("aggregation", ["mlp", "residual"])
@pytest.mark.parametrize("family", FAMILIES)
def test_fused_and_loop_have_the_same_gradients(family, aggregation):
    fused, loop = twins(family, aggregation_mode=aggregation)
    ids = fresh_ids(3, 9)
    for mask in (None, padded(9, "right")):
        (loss, ours), (other_loss, theirs) = gradients(fused, ids, mask), gradients(loop, ids, mask)
        assert float(loss) == pytest.approx(float(other_loss), abs=1e-5)
        assert_same_gradients(ours, theirs)
    assert len(ours) == len(list(fused.parameters()))


@pytest.mark.parametrize("execution", ["fused", "loop"])
@pytest.mark.parametrize("reentrant", [False, True])
def test_gradient_checkpointing_changes_nothing(execution, reentrant):
    model, _ = twins()
    model.config.chunk_execution = execution
    model.train()
    ids = fresh_ids(2, 7)
    loss, plain = gradients(model, ids)
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    model.enable_input_require_grads()
    again, checkpointed = gradients(model, ids)
    assert torch.equal(loss, again)
    assert_same_gradients(checkpointed, plain)


def test_what_moves_weights_is_noticed():
    """Half precision and back, a load that replaces parameters, an edit in place, a deep copy."""
    model, _ = twins()
    ids = fresh_ids(2, 5)

    def check(model):
        with torch.no_grad():
            ours = model(ids).logits
            model.config.chunk_execution = "loop"
            assert torch.allclose(ours, model(ids).logits, atol=1e-4)
            model.config.chunk_execution = "fused"
        return ours

    first = check(model)
    check(model.to(torch.float64).to(torch.float32))
    other = {name: tensor.clone() * 1.1 for name, tensor in model.state_dict().items()}
    model.load_state_dict(other, assign=True)
    second = check(model)
    assert not torch.allclose(first, second, atol=1e-3)
    model.model.layers[3].mlp.down_proj.weight.data = torch.randn(32, 40)
    third = check(model)
    assert not torch.allclose(second, third, atol=1e-3)
    twin = copy.deepcopy(model)
    with torch.no_grad():
        twin.model.layers[3].mlp.down_proj.weight.zero_()
    assert not torch.allclose(check(twin), third, atol=1e-3)
    assert torch.equal(check(model), third)


def test_weights_are_stored_once():
    model, _ = twins()
    model(fresh_ids(1, 3))
    storages = {p.untyped_storage().data_ptr(): p.untyped_storage() for p in model.parameters()}
    assert sum(s.nbytes() for s in storages.values()) == sum(p.nbytes for p in model.parameters())


LINEAR = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


@pytest.mark.parametrize(
    "keys",
    [
        {"target_modules": ["v_proj"], "modules_to_save": ["wrapped_chunk_layers"]},
        {"target_modules": LINEAR},
        {"target_modules": LINEAR, "use_dora": True},
        {"target_modules": ["q_proj"], "layers_to_transform": [2, 3]},
    ],
)
def test_low_rank_adapters_fused_and_as_a_loop(keys):
    model = chunked_model(base_model("qwen2", 6), **PLAN)
    ids = fresh_ids(2, 6)
    plain = model(ids).logits.detach()
    lora = LoraConfig(r=2, lora_alpha=4, init_lora_weights=False, task_type="CAUSAL_LM", **keys)
    wrapped = get_peft_model(model, lora)
    results = {}
    for execution in ("fused", "loop"):
        model.config.chunk_execution = execution
        results[execution] = wrapped(ids).logits.detach(), gradients(wrapped, ids)[1]
        with wrapped.disable_adapter():
            assert torch.allclose(wrapped(ids).logits, plain, atol=1e-5)
    (ours, our_gradients), (theirs, their_gradients) = results["fused"], results["loop"]
    assert not torch.allclose(ours, plain, atol=1e-3)
    assert torch.allclose(ours, theirs, atol=1e-5)
    assert_same_gradients(our_gradients, their_gradients)

    model.config.chunk_execution = "fused"
    merged = wrapped.merge_and_unload(safe_merge=True)
    assert torch.allclose(merged(ids).logits, ours, atol=1e-4)


def test_autocast_to_bfloat16():
    """What a trainer does with bf16: weights stay wide, products are narrow, gradients come back."""
    fused, loop = twins()
    ids = fresh_ids(2, 6)
    for model in (fused, loop):
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(ids, labels=ids).loss
        loss.backward()  # outside, as trainers do
    ours, theirs = (m.model.layers[3].mlp.down_proj.weight.grad for m in (fused, loop))
    assert ours.dtype == torch.float32
    assert torch.nn.functional.cosine_similarity(ours.flatten(), theirs.flatten(), dim=0) > 0.99
