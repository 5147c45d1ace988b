"""Test that training killed at any time resumes to bitwise the same weights and loss curve."""

import json
import multiprocessing
import os
import signal
from functools import cache
from itertools import count
from pathlib import Path

import pytest

from tests.unit.training.small import (
    draw_samples,
    is_same,
    list_losses,
    make_model,
    train_small,
)
from workflow_scripts.core.errors import Interrupted, UserError
from workflow_scripts.training import trainer
from workflow_scripts.training.state import is_sealed

# Twenty steps, an evaluation per epoch, a saved state every three steps.
LORA = {"method": "lora", "lora_rank": 2, "lora_dropout": 0.2, "epochs": 2}
# The learning rate is too high for the best state to be the last; each new best is saved.
BEST = {"epochs": 2, "lr_scheduler": "linear", "select": "best", "eval_steps": 4}
BEST["learning_rate"] = 5e-3
PLACES = {
    "weights": (trainer, "save_file"),
    "step": (trainer.PackedTrainer, "training_step"),
    "train": (trainer.PackedTrainer, "train"),
}


class Killed(BaseException):
    """Simulate a kill of the training."""


def train(folder, changes):
    samples = {"samples": draw_samples(40), "held_out": draw_samples(6, seed=1)}
    return train_small(folder, "llama", **samples | changes)


def schedule_kill(patch, place, call, moment, kill=None):
    """Raise Killed in the n-th call of a function: before, after, or amid writing its file."""
    owner, name = PLACES[place]
    original, calls = getattr(owner, name), count(1)

    def call_until_killed(*args, **kwargs):
        is_last = next(calls) == call
        if is_last and moment == "amid":
            Path(args[1]).write_bytes(b"half a file")
        result = None if is_last and moment != "after" else original(*args, **kwargs)
        if is_last:
            kill() if kill else None
            raise Killed
        return result

    patch.setattr(owner, name, call_until_killed)


def interrupt(folder, changes, monkeypatch, *where):
    with monkeypatch.context() as patch, pytest.raises(Killed):
        schedule_kill(patch, *where)
        train(folder, changes)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Train once per set of changes, without a kill."""

    @cache
    def run(changes: str):
        return train(tmp_path_factory.mktemp("undisturbed"), json.loads(changes))

    return lambda changes: run(json.dumps(changes))


def assert_same_outcome(resumed, expected):
    assert is_same(resumed.parameters, expected.parameters)
    for name in ("history", "selected", "facts"):
        assert getattr(resumed, name) == getattr(expected, name)


@pytest.mark.parametrize(
    ("changes", "place", "call", "moment"),
    [
        (LORA, "weights", 2, "amid"),
        (LORA | {"max_steps": 7}, "train", 1, "after"),  # restarting would add a step
        (BEST, "weights", 5, "after"),
    ],
)
def test_resume_after_kill(undisturbed, tmp_path, monkeypatch, changes, place, call, moment):
    interrupt(tmp_path, changes, monkeypatch, place, call, moment)
    assert_same_outcome(train(tmp_path, changes), undisturbed(changes))


def train_until_killed(folder):
    schedule_kill(pytest.MonkeyPatch(), "step", 9, "before", lambda: os.kill(os.getpid(), 9))
    train(folder, LORA)


def test_resume_after_sigkill(undisturbed, tmp_path):
    process = multiprocessing.get_context("fork").Process(
        target=train_until_killed, args=(tmp_path,)
    )
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert_same_outcome(train(tmp_path, LORA), undisturbed(LORA))


def test_resume_after_signal(undisturbed, tmp_path, monkeypatch):
    """After a signal, the step is finished and saved, and the job exits with 75."""
    original, calls = trainer.PackedTrainer.training_step, count(1)

    def send_signal(*args, **kwargs):
        if next(calls) == 5:
            os.kill(os.getpid(), signal.SIGUSR1)
        return original(*args, **kwargs)

    with monkeypatch.context() as patch, pytest.raises(Interrupted, match="step 5 of 20") as error:
        patch.setattr(trainer.PackedTrainer, "training_step", send_signal)
        train(tmp_path, LORA)
    assert error.value.exit_code == 75
    assert_same_outcome(train(tmp_path, LORA), undisturbed(LORA))


def flip_bit(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def test_damaged_state_is_removed(undisturbed, tmp_path, monkeypatch):
    """Training resumes from the state before the damaged one: 14 of 20 steps remain, and a 15th is killed."""
    interrupt(tmp_path, LORA, monkeypatch, "step", 11, "before")
    flip_bit(tmp_path / "checkpoint-9/model.safetensors")
    with monkeypatch.context() as patch:
        schedule_kill(patch, "step", 15, "before")
        resumed = train(tmp_path, LORA)
    assert_same_outcome(resumed, undisturbed(LORA))


def test_damaged_best_state_is_trained_again(undisturbed, tmp_path, monkeypatch):
    """Training resumes from a state before the damaged best one, because later states lack its weights."""
    expected = undisturbed(BEST)
    interrupt(tmp_path, BEST, monkeypatch, "step", 20, "before")
    best = expected.selected["step"]
    assert best < 18, "a later state could be resumed from"
    flip_bit(tmp_path / f"checkpoint-{best}/model.safetensors")
    assert_same_outcome(train(tmp_path, BEST), expected)


def test_foreign_state_is_not_used(tmp_path, monkeypatch, capsys):
    for change in ({}, {"learning_rate": 2e-3}, {"seed": 1}, {"resume_key": {"weights": "others"}}):
        interrupt(tmp_path, LORA | change, monkeypatch, "step", 5, "before")
    assert "Resuming" not in capsys.readouterr().out


def test_non_finite_loss_stops(undisturbed, tmp_path, monkeypatch):
    """Training stops at that step, and resumes from the last good state."""
    original = trainer.PackedTrainer.compute_loss

    def compute_loss(self, *args, **kwargs):
        factor = "nan" if self.state.global_step == 7 else "1"
        return original(self, *args, **kwargs) * float(factor)

    with monkeypatch.context() as patch:
        patch.setattr(trainer.PackedTrainer, "compute_loss", compute_loss)
        with pytest.raises(UserError, match="step 8 of 20: loss is"):
            train(tmp_path, LORA)
    assert is_sealed(tmp_path / "checkpoint-6") and not (tmp_path / "checkpoint-8").exists()
    assert_same_outcome(train(tmp_path, LORA), undisturbed(LORA))


def test_memory_error_halves_micro_batch(tmp_path, capsys):
    """Training continues from the last state with the same samples per step."""
    error = RuntimeError("DefaultCPUAllocator: can't allocate memory")
    calls = count(1)

    def load(dtype):
        model = make_model("llama")
        forward = model.forward

        def forward_with_limit(*args, **kwargs):
            positions = kwargs.get("position_ids")
            # Two calls test the packing, and each step is one call.
            if positions is not None and next(calls) > 8 and int((positions == 0).sum()) > 2:
                raise error
            return forward(*args, **kwargs)

        model.forward = forward_with_limit
        return model

    options = {"samples": draw_samples(64), "batch_size": 8, "save_steps": 2}
    trained = train_small(tmp_path / "a", load=load, **options)
    assert "Resuming from checkpoint-6." in capsys.readouterr().out
    assert trained.facts["micro_batch_size"] == 2
    assert [entry["step"] for entry in trained.history] == list(range(1, 9))
    whole = train_small(tmp_path / "b", "llama", **options)
    assert list_losses(trained) == pytest.approx(list_losses(whole), abs=1e-2)


def test_checkpointing_changes_no_weights(tmp_path):
    keys = {"method": "lora", "lora_rank": 2, "lora_dropout": 0.1, "max_steps": 3}
    plain = train_small(tmp_path / "a", "llama", **keys)
    checkpointed = train_small(tmp_path / "b", "llama", **keys, gradient_checkpointing="yes")
    assert is_same(plain.parameters, checkpointed.parameters)
