"""Distillation: the chunked model is taught by the same weights in their original order."""

import pytest
import torch
import torch.nn.functional as F

from tests.tiny_models import PLAN, VOCABULARY, base_model, chunked_model, tiny_model
from tests.unit.chunked.reference import (
    added_weights,
    fresh_ids,
    padded,
    published_loss,
    reference_loss,
)
from tests.unit.largest import Largest
from workflow_scripts.chunked import modeling
from workflow_scripts.core.errors import UserError

MEAN = PLAN | {"aggregation_mode": "mean"}
BOTH = {"distillation": True, "logits_distillation": True}


@pytest.mark.parametrize("items", [None, 40])
def test_both_losses_against_the_formula(items):
    base, ids = base_model("qwen2", 6), fresh_ids(2, 8)
    labels = ids.clone()
    labels[0, :4] = -100
    model = chunked_model(base, **MEAN, **BOTH, temperature=3.0).train()
    expected = reference_loss(base, model.config, added_weights(model), ids, labels)
    counted = int((labels[:, 1:] != -100).sum())
    extra = {"num_items_in_batch": items} if items else {}
    loss = model(ids, labels=labels, **extra).loss
    assert float(loss) == pytest.approx(float(expected) * counted / (items or counted), rel=1e-4)


@pytest.mark.parametrize(("items", "at_once"), [(None, 1000), (40, 7)])
@pytest.mark.parametrize("learns", [{"distillation": True}, {"logits_distillation": True}, BOTH])
def test_the_published_losses_count_prompts_and_padding(monkeypatch, learns, items, at_once):
    monkeypatch.setattr(modeling, "_LOGITS_AT_ONCE", at_once * VOCABULARY)
    base, ids, mask = base_model("qwen2", 6), fresh_ids(3, 8), padded(8, "right")
    labels = ids.masked_fill(mask == 0, -100)
    labels[0, :4] = -100
    keys = PLAN | learns | {"distillation_loss": "published", "temperature": 3.0}
    model = chunked_model(base, **keys).train()
    new = added_weights(model)
    expected = published_loss(base, model.config, new, ids, labels, mask)
    counted = int((labels[:, 1:] != -100).sum())
    extra = {"num_items_in_batch": items} if items else {}
    loss = (
        model(ids, attention_mask=mask, labels=labels, **extra).loss * (items or counted) / counted
    )
    assert loss.item() == pytest.approx(expected.item(), rel=1e-4)
    gradients = (torch.autograd.grad(one, list(new.values())) for one in (loss, expected))
    for ours, theirs in zip(*gradients, strict=True):
        assert (ours - theirs).abs().max() <= 1e-3 * theirs.abs().max()


def test_the_published_loss_of_hidden_states_needs_a_layer_behind_the_chunks():
    keys = {"num_layers_per_chunk": 3, "chunking_mode": "uniform", "distillation": True}
    model = chunked_model(base_model("qwen2", 6), **keys, distillation_loss="published").train()
    with pytest.raises(UserError, match="no layer behind its chunks; expected own"):
        model(fresh_ids(1, 4), labels=fresh_ids(1, 4))


def test_no_more_logits_than_a_piece_ever_lie_in_memory(monkeypatch):
    vocabulary, tokens, at_once = 5000, 64, 8
    monkeypatch.setattr(modeling, "_LOGITS_AT_ONCE", at_once * vocabulary)
    base = tiny_model("qwen2", vocabulary, layers=6)
    model = chunked_model(base, **MEAN, **BOTH).train()
    ids = torch.randint(3, vocabulary, (1, tokens))
    with Largest() as mode:
        model(ids, labels=ids).loss.backward()
    assert mode.elements <= max(at_once * vocabulary, model.lm_head.weight.numel())


def test_the_teacher_learns_nothing_and_evaluation_is_the_plain_loss():
    base, ids = base_model("qwen2", 6), fresh_ids(2, 8)
    taught = chunked_model(base, **MEAN, distillation=True).train()
    loss = taught(ids, labels=ids).loss
    assert float(loss) > 0 and float(taught.distillation_losses["hidden"]) > 0
    loss.backward()
    plain = chunked_model(base, **MEAN)
    plain.load_state_dict(taught.state_dict())
    ours, theirs = (float(model.eval()(ids, labels=ids).loss) for model in (taught, plain))
    assert ours == pytest.approx(theirs, abs=1e-6)


def test_beside_low_rank_adapters_the_teacher_is_the_unchanged_model():
    """However far they have been trained, and though they stand in the layers that it runs."""
    from peft import LoraConfig, get_peft_model

    base, ids = base_model("qwen2", 6), fresh_ids(2, 8)
    model = chunked_model(base, **MEAN, logits_distillation=True, temperature=1.0).train()
    lora = LoraConfig(r=2, target_modules=["q_proj", "down_proj"], init_lora_weights=False)
    adapted = get_peft_model(model, lora).train()
    total = adapted(input_ids=ids, labels=ids).loss
    total.backward()
    with torch.no_grad():
        taught = F.log_softmax(base(ids).logits[:, :-1], dim=-1)
        logits = adapted.eval()(input_ids=ids).logits[:, :-1]  # the adapters are back
    found = F.log_softmax(logits, dim=-1)
    apart = (taught.exp() * (taught - found)).sum(-1).mean()
    wanted = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    assert apart > 0.1
    assert total.item() == pytest.approx((wanted + apart).item(), rel=1e-5)
    trained = {n: p for n, p in adapted.named_parameters() if p.requires_grad}
    assert trained and all("lora_" in name and p.grad is not None for name, p in trained.items())


@pytest.mark.parametrize("learns", [{"distillation": True}, {"logits_distillation": True}, BOTH])
def test_a_pruned_model_is_taught_by_all_layers_and_runs_those_that_are_left(learns):
    base, ids = base_model("qwen3", 6), fresh_ids(2, 8)
    keys = {"chunking_mode": "prune", "layers_to_prune": [2, 5]}
    model = chunked_model(base, **keys, **learns).train()
    expected = reference_loss(base, model.config, {}, ids, ids)
    loss = model(ids, labels=ids).loss
    loss.backward()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-4)
    untaught = {n for n, p in model.named_parameters() if p.grad is None}
    assert untaught and all(
        name.startswith(("model.layers.1.", "model.layers.4.")) for name in untaught
    )
    with torch.no_grad():
        plain = chunked_model(base, **keys).eval()
        assert torch.equal(model.eval()(ids).logits, plain(ids).logits)
