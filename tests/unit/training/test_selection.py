"""Evaluations on the way, and which state is kept by them."""

import shutil

import pytest
import torch

from tests.unit.training.small import drawn_samples, losses, same, train_small
from workflow_scripts.core.errors import UserError
from workflow_scripts.training.loss import Counted, summed_loss
from workflow_scripts.training.packing import Collator
from workflow_scripts.training.selection import is_best_whole
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
    trained.model.eval()
    with torch.no_grad():
        for at in range(len(HELD_OUT)):
            inputs = Collator(False, 0)([HELD_OUT[at]])
            counted = Counted(inputs.pop("before"), inputs.pop("targets"))
            count += int((inputs.pop("labels")[:, 1:] != -100).sum())
            trained.model.set_attn_implementation("sdpa")
            total += float(summed_loss(trained.model, inputs, counted))
    assert evaluations(trained)[12] == pytest.approx(total / count, abs=1e-4)


def test_the_best_is_kept_by_its_loss(tmp_path):
    options = OPTIONS | {"evaluate_every": 1, "learning_rate": 0.1, "max_steps": 10}
    trained = train_small(tmp_path / "a", select="best", **options)
    found = evaluations(trained)
    step = min(found, key=found.get)
    assert trained.selected == {"step": step, "by": "loss", "value": found[step]}
    assert 0 < step < 10
    last = train_small(tmp_path / "b", select="last", **options)
    assert same(trained.last_parameters, last.parameters)
    assert last.selected == {"step": 10} and last.last_parameters is None
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


@pytest.mark.parametrize("save_every", [3, 100])
def test_patience_ends_with_the_first_evaluation_that_is_no_better(tmp_path, save_every):
    def trained_with(folder, measured, **keys):
        values = iter(measured)
        usual = {"evaluate_every": 2, "max_steps": 12, "save_every": save_every, "warm_up": 0.0}
        return train_small(
            folder,
            score=lambda model: {"accuracy": next(values)},
            best_by=("accuracy", True),
            **usual | keys,
        )

    found = [0.1, 0.5, 0.4, 0.9, 0.8, 0.2]
    patient = trained_with(tmp_path / "a", found, select="patience")
    assert patient.selected == {"step": 4, "by": "accuracy", "value": 0.5}
    assert patient.facts["steps"] == 6 and list(evaluations(patient, "accuracy")) == [2, 4, 6]
    until_then = trained_with(tmp_path / "b", found, max_steps=4, schedule="constant")
    constant = trained_with(tmp_path / "c", found, select="patience", schedule="constant")
    assert same(constant.parameters, until_then.parameters)
    # Killed before its record was written: what is lost is done again, and ends where it ended.
    again = trained_with(tmp_path / "a", [] if save_every == 3 else found, select="patience")
    assert again.facts["steps"] == 6 and again.selected == patient.selected
    assert same(again.parameters, patient.parameters)


def test_evaluating_changes_nothing_about_the_training(tmp_path):
    keys = {"method": "lora", "lora_dropout": 0.2, "max_steps": 6}
    often = train_small(tmp_path / "a", "llama", held_out=HELD_OUT, evaluate_every=1, **keys)
    never = train_small(tmp_path / "b", "llama", **keys)
    assert losses(often) == losses(never)
    assert same(often.parameters, never.parameters)


def test_a_metric_nobody_measures_is_a_sentence(tmp_path):
    with pytest.raises(UserError, match=r"best_by is 'acc'; the evaluation gives loss\."):
        train_small(tmp_path, best_by=("acc", True), select="best", **OPTIONS)


def test_nothing_to_train_on_is_a_sentence(tmp_path):
    with pytest.raises(UserError, match="not one sample to train on"):
        train_small(tmp_path, samples=drawn_samples(0))


def test_tensorboard_without_its_package_is_a_sentence(tmp_path, monkeypatch):
    from workflow_scripts.training import run

    monkeypatch.setattr(run, "is_tensorboard_available", lambda: False)
    with pytest.raises(UserError, match="the package tensorboard is not installed"):
        train_small(tmp_path / "state", tensorboard=True)
    assert not (tmp_path / "state").exists()


def test_tensorboard_files_lie_outside_the_state(tmp_path, monkeypatch):
    """With a writer in the package's place, which is not among what Chorus needs."""
    from workflow_scripts.training import progress, run

    written = []

    class Callback(progress.TrainerCallback):
        def on_log(self, args, state, control, logs=None, **kwargs):
            written.append((state.global_step, logs))

    def to_tensorboard(folder):
        written.append(folder)
        return Callback()

    monkeypatch.setattr(run, "is_tensorboard_available", lambda: True)
    monkeypatch.setattr(run, "to_tensorboard", to_tensorboard)
    train_small(tmp_path / "state", tensorboard=True, max_steps=2)
    assert written[0] == tmp_path / "state.tensorboard"
    assert [step for step, logs in written[1:] if "loss" in logs] == [1, 2]


def test_a_kill_while_a_damaged_state_is_forgotten_leaves_nothing_to_go_on_from(
    tmp_path, monkeypatch
):
    """Without its note a best state would look as if there had been none."""
    state = StateFolder(tmp_path / "state", {"a": 1})
    for step in (3, 6):
        (state.path / f"checkpoint-{step}").mkdir()
        state.seal(step)
    (state.path / "best.json").write_text("half")
    rmtree = shutil.rmtree

    def killed(path):
        assert not is_best_whole(state.path)
        if path.name == "checkpoint-3":
            raise KeyboardInterrupt
        rmtree(path)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("workflow_scripts.training.state.shutil.rmtree", killed)
        state.forget("Damaged")
    assert not is_best_whole(state.path)
    state.forget("Damaged")
    assert is_best_whole(state.path) and state.latest() is None
