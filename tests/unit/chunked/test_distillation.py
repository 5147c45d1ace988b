"""Test distillation of a chunked model from the same weights in their original layer order."""

import pytest
import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model

from tests.tiny_models import (
    DISTILLED,
    PLAN,
    VOCABULARY,
    base_model,
    chunked_model,
    make_tiny_model,
)
from tests.unit.chunked.reference import (
    compute_reference_loss,
    fresh_ids,
    get_added_weights,
    make_padding_mask,
)

PRUNED = {"chunking_mode": "prune", "layers_to_prune": [2, 5]}
HIDDEN, LOGITS = {"distillation": True}, {"logits_distillation": True}
PUBLISHED = {"distillation_loss": "published"}


@pytest.mark.parametrize(
    ("kind", "keys", "items", "rows_per_block"),
    [
        ("qwen2", PLAN | DISTILLED, 40, 7),
        ("qwen2", PLAN | HIDDEN | PUBLISHED, None, 1000),
        ("qwen2", PLAN | LOGITS | PUBLISHED, None, 7),
        ("qwen2", PLAN | DISTILLED | PUBLISHED, 40, 7),
        ("qwen3", PRUNED | DISTILLED, None, 1000),
        ("windowed", PLAN | DISTILLED, None, 7),
    ],
)
def test_distillation_loss_and_gradients(kind, keys, items, rows_per_block):
    base = make_tiny_model(kind, layers=6, seed=None)
    ids, mask = fresh_ids(3, 8), make_padding_mask(8, "right")
    labels = ids.masked_fill(mask == 0, -100)
    labels[0, :4] = -100
    model = chunked_model(base, **keys, temperature=3.0).train()
    model.max_logits = rows_per_block * VOCABULARY
    added = get_added_weights(model)
    expected = compute_reference_loss(base, model.config, added, ids, labels, mask)
    num_targets = int((labels[:, 1:] != -100).sum())
    loss = model(ids, attention_mask=mask, labels=labels, num_items_in_batch=items).loss
    loss = loss * (items or num_targets) / num_targets
    assert loss.item() == pytest.approx(expected.item(), rel=1e-4)
    for name, weight in added.items():
        own, reference = (
            torch.autograd.grad(value, weight, retain_graph=True)[0] for value in (loss, expected)
        )
        assert (own - reference).abs().max() <= 1e-3 * reference.abs().max(), name


def test_teacher_without_low_rank_adapters():
    """The teacher is the unchanged model, even if the adapters have been trained."""
    base, ids = base_model("qwen2", 6), fresh_ids(2, 8)
    model = chunked_model(base, **PLAN, **LOGITS, temperature=1.0).train()
    lora = LoraConfig(r=2, target_modules=["q_proj", "down_proj"], init_lora_weights=False)
    adapted = get_peft_model(model, lora).train()
    total = adapted(input_ids=ids, labels=ids).loss
    total.backward()
    with torch.no_grad():
        teacher = F.log_softmax(base(ids).logits[:, :-1], dim=-1)
        logits = adapted.eval()(input_ids=ids).logits[:, :-1]  # with the adapters enabled again
    student = F.log_softmax(logits, dim=-1)
    divergence = (teacher.exp() * (teacher - student)).sum(-1).mean()
    plain = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    assert divergence > 0.1
    assert total.item() == pytest.approx((plain + divergence).item(), rel=1e-5)
    trained = {n: p for n, p in adapted.named_parameters() if p.requires_grad}
    assert trained and all("lora_" in name and p.grad is not None for name, p in trained.items())
