"""Distillation: the chunked model is taught by the same weights in their original order."""

import pytest
import torch
import torch.nn.functional as F

from tests.unit.chunked.reference import base_model, chunked_model, fresh_ids

PLAN = {"num_layers_per_chunk": 2, "num_chunks": 2, "aggregation_mode": "mean"}


def losses(base, ids, labels, items=None, **keys):
    model = chunked_model(base, "qwen2", **PLAN, **keys).train()
    extra = {} if items is None else {"num_items_in_batch": items}
    outputs = model(ids, labels=labels, **extra)
    return model, outputs, outputs.loss


@pytest.mark.parametrize("items", [None, 40])
def test_both_losses_against_the_formula(items):
    base = base_model("qwen2", 6)
    ids = fresh_ids(2, 8)
    labels = ids.clone()
    labels[0, :4] = -100
    torch.manual_seed(3)
    plain_model, plain, plain_loss = losses(base, ids, labels, items)
    torch.manual_seed(3)
    _, outputs, both = losses(
        base, ids, labels, items, distillation=True, logits_distillation=True, temperature=3.0
    )
    assert torch.equal(outputs.logits, plain.logits)

    counts = labels[:, 1:] != -100
    number = items or int(counts.sum())
    teacher = base(ids, output_hidden_states=True)
    # States entering the end layers, 5 of 6, and leaving it, before the last norm.
    theirs, ours = [], []
    model = plain_model.model
    model.stages[1].register_forward_hook(lambda _m, _a, out: ours.append(out))
    model.stages[2].register_forward_hook(lambda _m, _a, out: ours.append(out))
    base.model.layers[4].register_forward_hook(lambda _m, _a, out: theirs.append(out))
    base.model.layers[5].register_forward_hook(lambda _m, _a, out: theirs.append(out))
    plain_model(ids), base(ids)
    hidden = [
        ((1 - F.cosine_similarity(a, b, dim=-1)) ** 2)[:, :-1][counts].sum() / number
        for a, b in zip(ours, theirs, strict=True)
    ]
    p = F.softmax(teacher.logits[:, :-1][counts] / 3, dim=-1)
    q = F.softmax(plain.logits[:, :-1][counts] / 3, dim=-1)
    logits = (p * (p / q).log()).sum() * 9 / number
    expected = plain_loss + sum(hidden) / len(hidden) + logits
    assert float(both) == pytest.approx(float(expected), rel=1e-4)


def test_the_teacher_learns_nothing_and_evaluation_is_the_plain_loss():
    base = base_model("qwen2", 6)
    ids = fresh_ids(2, 8)
    torch.manual_seed(3)
    model, _outputs, loss = losses(base, ids, ids, distillation=True)
    assert float(loss) > 0 and float(model.distillation_losses["hidden"]) > 0
    loss.backward()
    torch.manual_seed(3)
    plain, _, _ = losses(base, ids, ids)
    assert float(model.eval()(ids, labels=ids).loss) == pytest.approx(
        float(plain.eval()(ids, labels=ids).loss), abs=1e-6
    )


def test_a_plan_without_end_is_taught_its_aggregated_state():
    base = base_model("qwen2", 6)
    model = chunked_model(
        base, "qwen2", num_layers_per_chunk=3, chunking_mode="uniform", distillation=True
    ).train()
    ids = fresh_ids(1, 6)
    model(ids, labels=ids).loss.backward()
    assert float(model.distillation_losses["hidden"]) > 0


def test_adapters_around_a_distilled_model_get_its_loss():
    """PEFT hands on `return_dict=None`, which means as the config has it."""
    from peft import LoraConfig, get_peft_model

    base, ids = base_model("qwen2", 6), fresh_ids(2, 8)
    keys = {"distillation": True, "logits_distillation": True}
    torch.manual_seed(3)
    model, _, expected = losses(base, ids, ids, **keys)
    adapted = get_peft_model(
        model, LoraConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM")
    )
    outputs = adapted.train()(input_ids=ids, labels=ids)
    assert outputs.loss.item() == pytest.approx(expected.item(), rel=1e-5)
    outputs.loss.backward()
    assert all(p.grad is not None for n, p in adapted.named_parameters() if "lora_B" in n)
    as_tuple = adapted(input_ids=ids, labels=ids, return_dict=False)
    assert isinstance(as_tuple, tuple) and torch.equal(as_tuple[0], outputs.loss)
