"""Evaluations on the way, and which state is kept by them."""

import pytest
import torch

from tests.unit.training.small import drawn_samples, losses, same, train_small
from workflow_scripts.core.errors import UserError
from workflow_scripts.training import watching
from workflow_scripts.training.loss import summed_loss
from workflow_scripts.training.packing import Collator
from workflow_scripts.training.state import StateFolder

HELD_OUT = drawn_samples(7, seed=1)
# Twelve steps in two epochs, and too fast to stay at its best.
OPTIONS = {"held_out": HELD_OUT, "epochs": 2, "learning_rate": 2e-2, "schedule": "constant"}


def evaluations(trained, name="loss"):
    return {e["step"]: e[f"eval_{name}"] for e in trained.history if f"eval_{name}" in e}


@pytest.mark.parametrize(("keys", "steps"), [({}, [6, 12]), ({"evaluate_every": 5}, [5, 10, 12])])
def test_after_each_epoch_or_so_many_steps_and_at_the_end(tmp_path, keys, steps):
    assert list(evaluations(train_small(tmp_path, **keys, **OPTIONS))) == steps


@pytest.mark.parametrize("packing", [True, False])
def test_the_loss_is_that_of_each_counted_token(tmp_path, packing):
    trained = train_small(tmp_path, packing=packing, **OPTIONS)
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
    measured = evaluations(trained)
    step = min(measured, key=measured.get)
    assert trained.selected == {"step": step, "by": "loss", "value": measured[step]}
    assert 0 < step < 10
    last = train_small(tmp_path / "b", select="last", **options)
    assert last.selected == {"step": 10}
    until_then = train_small(tmp_path / "c", **options | {"max_steps": step})
    assert same(trained.parameters, until_then.parameters)
    model = dict(trained.model.named_parameters())
    assert all(torch.equal(model[name], value) for name, value in trained.parameters.items())


@pytest.mark.parametrize(("larger", "step"), [(True, 4), (False, 2)])
def test_the_best_by_what_a_caller_measures(tmp_path, larger, step):
    values = iter([0.5, 0.1, 0.5, 0.9, float("nan"), 0.9])
    seen = []

    def score(model):
        seen.append(model.training)
        return {"accuracy": next(values), "other": 1.0}

    trained = train_small(
        tmp_path, score=score, best_by=("accuracy", larger), select="best", evaluate_every=1, max_steps=6
    )  # fmt: skip
    assert trained.selected == {"step": step, "by": "accuracy", "value": 0.9 if larger else 0.1}
    assert seen == [False] * 6
    assert list(evaluations(trained, "other")) == [1, 2, 3, 4, 5, 6]


def test_patience_ends_with_the_first_evaluation_that_is_no_better(tmp_path):
    def trained_with(folder, measured, **keys):
        values = iter(measured)
        usual = {"evaluate_every": 2, "max_steps": 12, "warm_up": 0.0}
        return train_small(
            folder,
            score=lambda model: {"accuracy": next(values)},
            best_by=("accuracy", True),
            **usual | keys,
        )

    measured = [0.1, 0.5, 0.4, 0.9, 0.8, 0.2]
    patient = trained_with(tmp_path / "a", measured, select="patience")
    assert patient.selected == {"step": 4, "by": "accuracy", "value": 0.5}
    assert patient.facts["steps"] == 6 and list(evaluations(patient, "accuracy")) == [2, 4, 6]
    until_then = trained_with(tmp_path / "b", measured, max_steps=4, schedule="constant")
    constant = trained_with(tmp_path / "c", measured, select="patience", schedule="constant")
    assert same(constant.parameters, until_then.parameters)
    # Killed before its record was written it ends where it ended, and evaluates nothing.
    again = trained_with(tmp_path / "a", [], select="patience")
    assert again.facts["steps"] == 6 and again.selected == patient.selected
    assert same(again.parameters, patient.parameters)


def test_evaluating_changes_nothing_about_the_training(tmp_path):
    keys = {"method": "lora", "lora_dropout": 0.2, "max_steps": 6}
    often = train_small(tmp_path / "a", "llama", held_out=HELD_OUT, evaluate_every=1, **keys)
    never = train_small(tmp_path / "b", "llama", **keys)
    assert losses(often) == losses(never)
    assert same(often.parameters, never.parameters)


def test_nothing_to_train_on_is_a_sentence(tmp_path):
    with pytest.raises(UserError, match="not one sample to train on"):
        train_small(tmp_path, samples=drawn_samples(0))


@pytest.mark.parametrize(("seconds", "saved"), [(0, [1, 2, 3, 4, 5, 6]), (10**6, [6])])
def test_states_are_saved_by_time_or_by_steps(tmp_path, monkeypatch, seconds, saved):
    monkeypatch.setattr(watching, "SAVE_SECONDS", seconds)
    sealed, seal = [], StateFolder.seal
    monkeypatch.setattr(
        StateFolder, "seal", lambda self, step: sealed.append(step) or seal(self, step)
    )
    by_time = train_small(tmp_path / "time", save_every=None)
    assert sealed == saved
    by_steps = train_small(tmp_path / "steps", save_every=4)
    assert sealed[len(saved) :] == [4, 6]
    assert losses(by_time) == losses(by_steps)
