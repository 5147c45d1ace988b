"""Test evaluation during training, checkpoint selection and early stopping."""

import pytest
import torch

from tests.unit.training.tiny_training import (
    draw_samples,
    is_same,
    list_losses,
    make_model,
    train_tiny,
)
from workflow_scripts.training.eval_mode import to_eval_mode
from workflow_scripts.training.packing import collate
from workflow_scripts.training.trainer import compute_summed_loss

HELD_OUT = draw_samples(7, seed=1)
# Twelve steps in two epochs; the learning rate is too high for the last state to be the best.
OPTIONS = {"held_out": HELD_OUT, "epochs": 2, "learning_rate": 2e-2, "lr_scheduler": "constant"}
OPTIONS["warmup_ratio"] = 0.0


def get_evaluations(trained, name="loss"):
    return {e["step"]: e[f"eval_{name}"] for e in trained.history if f"eval_{name}" in e}


@pytest.mark.parametrize(
    ("packing", "keys", "steps"), [(True, {}, [6, 12]), (False, {"eval_steps": 5}, [5, 10, 12])]
)
def test_held_out_loss_per_token(tmp_path, packing, keys, steps):
    trained = train_tiny(tmp_path, packing=packing, **keys, **OPTIONS)
    assert list(get_evaluations(trained)) == steps
    total = count = 0.0
    trained.model.eval().set_attn_implementation("sdpa")
    with torch.no_grad():
        for sample in HELD_OUT:
            inputs = collate([sample], False)
            loss, tokens = compute_summed_loss(trained.model, inputs, inputs.pop("labels"))
            total, count = total + float(loss), count + tokens
    assert get_evaluations(trained)[12] == pytest.approx(total / count, abs=1e-4)


def test_select_best_by_loss(tmp_path):
    options = OPTIONS | {"eval_steps": 1, "learning_rate": 0.1, "max_steps": 8}
    trained = train_tiny(tmp_path / "a", select="best", **options)
    values = get_evaluations(trained)
    step = min(values, key=values.get)
    assert 0 < step < 8
    assert trained.selected == {"step": step, "by": "loss", "value": values[step]}
    last = train_tiny(tmp_path / "b", **options | {"max_steps": step})
    assert last.selected == {"step": step} and is_same(trained.parameters, last.parameters)
    model = dict(trained.model.named_parameters())
    assert all(torch.equal(model[name], value) for name, value in trained.parameters.items())


@pytest.mark.parametrize(
    ("select", "larger", "scores", "step", "end"),
    [
        ("best", True, [0.5, 0.1, 0.5, 0.9, float("nan"), 0.9], 8, 12),
        ("best", False, [0.5, 0.1, 0.5, 0.9, float("nan"), 0.1], 4, 12),
        ("early_stopping", True, [0.1, 0.5, 0.4, 0.9, 0.8, 0.2], 4, 6),
    ],
)
def test_select_by_own_score(tmp_path, select, larger, scores, step, end):
    values = iter(scores)

    def score(model):
        assert not model.training
        return {"accuracy": next(values), "other": 1.0}

    options = {"eval_steps": 2, "max_steps": 12, "epochs": 2}
    options |= {"score": score, "best_by": ("accuracy", larger), "select": select}
    trained = train_tiny(tmp_path, **options)
    value = scores[step // 2 - 1]
    assert trained.selected == {"step": step, "by": "accuracy", "value": value}
    assert list(get_evaluations(trained, "other")) == list(range(2, end + 1, 2))
    # A rerun of finished training, as after a kill before its record, ends at once and evaluates nothing.
    rerun = train_tiny(tmp_path, **options)
    assert rerun.facts == trained.facts and rerun.selected == trained.selected


@pytest.mark.parametrize("method", ["full", "lora"])
def test_evaluation_changes_no_training(tmp_path, method):
    """Evaluation uses the load dtype bfloat16, and training float32."""
    keys = {"method": method, "lora_dropout": 0.2, "max_steps": 4, "precision": "bfloat16"}
    tokens, logits = torch.arange(3, 40)[None], []

    def load(dtype):
        model = make_model("llama").to(getattr(torch, dtype))
        model.config.dtype = getattr(torch, dtype)
        return model

    def score(model):
        other_names = [n for n, p in model.named_parameters() if p.dtype != torch.bfloat16]
        assert all("lora_" in name for name in other_names)
        with torch.no_grad():
            logits.append(model(input_ids=tokens).logits)
        return {}

    with_evaluation = train_tiny(tmp_path / "a", load=load, score=score, eval_steps=1, **keys)
    without_evaluation = train_tiny(tmp_path / "b", load=load, **keys)
    assert list_losses(with_evaluation) == list_losses(without_evaluation)
    assert is_same(with_evaluation.parameters, without_evaluation.parameters)
    assert all(tensor.dtype == torch.float32 for tensor in with_evaluation.parameters.values())
    with torch.no_grad():
        assert torch.equal(logits[-1], to_eval_mode(with_evaluation.model)(input_ids=tokens).logits)


@pytest.mark.parametrize(("method", "rate"), [("full", 3e-3), ("lora", 1e-2)])
def test_bfloat16_loss_within_seeds(tmp_path, method, rate):
    """After 50 steps, the dtype changes the loss less than another seed does."""
    samples = draw_samples(40)
    keys = {"method": method, "epochs": 5, "learning_rate": rate, "save_steps": 50}

    def measure(precision, seed):
        path, changes = tmp_path / f"{precision}{seed}", {"precision": precision, "seed": seed}
        trained = train_tiny(path, samples=samples, held_out=samples, **keys, **changes)
        ran = trained.to_training_facts(held_out_split="none").ran or {"precision": "float32"}
        assert ran["precision"] == precision
        return get_evaluations(trained)[50]

    exact, other, rounded = measure("float32", 0), measure("float32", 1), measure("bfloat16", 0)
    assert abs(rounded - exact) < abs(other - exact)


def test_distilled_model_adds_its_losses(tmp_path):
    kinds = ("fused", "distilled")
    trained = [train_tiny(tmp_path / kind, kind, max_steps=1) for kind in kinds]
    plain, distilled = (training.history[0]["loss"] for training in trained)
    assert distilled > plain
