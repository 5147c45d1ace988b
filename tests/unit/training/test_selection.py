"""Evaluations on the way, which state is kept by them, and when a training stops."""

import pytest
import torch

from tests.unit.training.small import drawn_samples, losses, model_of, same, train_small
from workflow_scripts.core.errors import UserError
from workflow_scripts.training.eval_mode import to_eval_mode
from workflow_scripts.training.loss import summed_loss
from workflow_scripts.training.packing import Collator
from workflow_scripts.training.state import is_sealed
from workflow_scripts.training.trainer import PackedTrainer

HELD_OUT = drawn_samples(7, seed=1)
# Twelve steps in two epochs, and too fast to stay at its best.
OPTIONS = {"held_out": HELD_OUT, "epochs": 2, "learning_rate": 2e-2, "schedule": "constant"}


def evaluations(trained, name="loss"):
    return {e["step"]: e[f"eval_{name}"] for e in trained.history if f"eval_{name}" in e}


@pytest.mark.parametrize(
    ("packing", "keys", "steps"), [(True, {}, [6, 12]), (False, {"evaluate_every": 5}, [5, 10, 12])]
)
def test_held_out_loss_is_that_of_each_counted_token(tmp_path, packing, keys, steps):
    trained = train_small(tmp_path, packing=packing, **keys, **OPTIONS)
    assert list(evaluations(trained)) == steps
    total = count = 0.0
    trained.model.eval().set_attn_implementation("sdpa")
    with torch.no_grad():
        for number in range(len(HELD_OUT)):
            inputs = Collator(False, 0)([HELD_OUT[number]])
            loss, tokens = summed_loss(trained.model, inputs, inputs.pop("labels"))
            total, count = total + float(loss), count + tokens
    assert evaluations(trained)[12] == pytest.approx(total / count, abs=1e-4)


def test_the_best_is_kept_by_its_loss(tmp_path):
    options = OPTIONS | {"evaluate_every": 1, "learning_rate": 0.1, "max_steps": 10}
    trained = train_small(tmp_path / "a", select="best", **options)
    values = evaluations(trained)
    step = min(values, key=values.get)
    assert trained.selected == {"step": step, "by": "loss", "value": values[step]}
    assert 0 < step < 10
    last = train_small(tmp_path / "b", select="last", **options)
    assert last.selected == {"step": 10}
    until_then = train_small(tmp_path / "c", **options | {"max_steps": step})
    assert same(trained.parameters, until_then.parameters)
    model = dict(trained.model.named_parameters())
    assert all(torch.equal(model[name], value) for name, value in trained.parameters.items())
    assert not (tmp_path / "a/checkpoint-8").exists() or step == 8, "the last two and the best"


@pytest.mark.parametrize(("larger", "step"), [(True, 4), (False, 2)])
def test_the_best_by_what_a_caller_measures(tmp_path, larger, step):
    values = iter([0.5, 0.1, 0.5, 0.9, float("nan"), 0.9])
    options = {"select": "best", "evaluate_every": 1, "max_steps": 6}

    def score(model):
        assert not model.training
        return {"accuracy": next(values), "other": 1.0}

    trained = train_small(tmp_path, score=score, best_by=("accuracy", larger), **options)
    assert trained.selected == {"step": step, "by": "accuracy", "value": 0.9 if larger else 0.1}
    assert list(evaluations(trained, "other")) == [1, 2, 3, 4, 5, 6]


def test_patience_ends_with_the_first_evaluation_that_is_no_better(tmp_path):
    def train(folder, scores, **keys):
        values = iter(scores)
        usual = {"evaluate_every": 2, "max_steps": 12, "warm_up": 0.0, "schedule": "constant"}
        score = {"score": lambda model: {"accuracy": next(values)}, "best_by": ("accuracy", True)}
        return train_small(folder, **score, **usual | keys)

    scores = [0.1, 0.5, 0.4, 0.9, 0.8, 0.2]
    patient = train(tmp_path / "a", scores, select="patience")
    assert patient.selected == {"step": 4, "by": "accuracy", "value": 0.5}
    assert patient.facts["steps"] == 6 and list(evaluations(patient, "accuracy")) == [2, 4, 6]
    assert same(patient.parameters, train(tmp_path / "b", scores, max_steps=4).parameters)
    # Killed before its record was written it ends where it ended, and evaluates nothing.
    again = train(tmp_path / "a", [], select="patience")
    assert again.facts == patient.facts and again.selected == patient.selected


@pytest.mark.parametrize("method", ["full", "lora"])
def test_evaluating_changes_nothing_about_the_training(tmp_path, method):
    """In bfloat16: it is evaluated in the format that it was loaded in, and trained on exactly."""
    keys = {"method": method, "lora_dropout": 0.2, "max_steps": 4, "precision": "bfloat16"}
    tokens, logits = torch.arange(3, 40)[None], []

    def load(dtype):
        model = model_of("llama").to(getattr(torch, dtype))
        model.config.dtype = getattr(torch, dtype)
        return model

    def score(model):
        kept = [n for n, p in model.named_parameters() if p.dtype != torch.bfloat16]
        assert all("lora_" in name for name in kept)
        with torch.no_grad():
            logits.append(model(input_ids=tokens).logits)
        return {}

    often = train_small(tmp_path / "a", load=load, score=score, evaluate_every=1, **keys)
    never = train_small(tmp_path / "b", load=load, **keys)
    exact = train_small(tmp_path / "c", load=load, **keys | {"precision": "float32"})
    assert losses(often) == losses(never) == pytest.approx(losses(exact), rel=2e-2)
    assert same(often.parameters, never.parameters)
    assert all(tensor.dtype == torch.float32 for tensor in often.parameters.values())
    with torch.no_grad():
        assert torch.equal(logits[-1], to_eval_mode(often.model)(input_ids=tokens).logits)


@pytest.mark.parametrize(("factor", "name"), [("nan", "loss"), ("inf", "grad_norm")])
def test_a_loss_or_gradient_that_is_no_number_stops(tmp_path, monkeypatch, factor, name):
    """At that step, with the last good state kept, from which the training goes on."""
    samples, real = drawn_samples(40), PackedTrainer.compute_loss

    def compute_loss(self, *args, **kwargs):
        loss = real(self, *args, **kwargs)
        if self.state.global_step == 7 and name == "loss":
            return loss * float(factor)
        if self.state.global_step == 7:
            loss.register_hook(lambda gradient: gradient * float(factor))
        return loss

    with monkeypatch.context() as patch:
        patch.setattr(PackedTrainer, "compute_loss", compute_loss)
        with pytest.raises(UserError, match=f"stopped at step 8 of 10: {name} is"):
            train_small(tmp_path / "a", samples=samples)
    assert is_sealed(tmp_path / "a/checkpoint-6") and not (tmp_path / "a/checkpoint-8").exists()
    again = train_small(tmp_path / "a", samples=samples)
    assert same(again.parameters, train_small(tmp_path / "b", samples=samples).parameters)


def test_a_model_that_learns_from_itself_trains_by_its_own_losses(tmp_path):
    trained = train_small(tmp_path, "distilled", max_steps=1)
    assert set(trained.model.distillation_losses) == {"hidden", "logits"}
