"""Distillation: the chunked model is taught by the same weights in their original order."""

import pytest
import torch

from tests.tiny_models import PLAN, base_model, chunked_model
from tests.unit.chunked.reference import added_weights, fresh_ids, reference_loss

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


def test_adapters_around_a_distilled_model_get_its_loss():
    """PEFT hands on `return_dict=None`, which means as the config has it."""
    from peft import LoraConfig, get_peft_model

    model, ids = chunked_model(base_model("qwen2", 6), **MEAN, **BOTH).train(), fresh_ids(2, 8)
    expected = model(ids, labels=ids).loss
    lora = LoraConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM")
    adapted = get_peft_model(model, lora).train()
    outputs = adapted(input_ids=ids, labels=ids)
    assert outputs.loss.item() == pytest.approx(expected.item(), rel=1e-5)
    outputs.loss.backward()
    assert all(p.grad is not None for n, p in adapted.named_parameters() if "lora_B" in n)
    as_tuple = adapted(input_ids=ids, labels=ids, return_dict=False)
    assert isinstance(as_tuple, tuple) and torch.equal(as_tuple[0], outputs.loss)
