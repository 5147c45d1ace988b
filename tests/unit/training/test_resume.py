"""Test that training killed at any time resumes to bitwise the same weights and loss curve."""

import json
import multiprocessing
import os
import signal
from functools import cache
from itertools import count

import pytest
import torch

from tests.unit.training.tiny_training import (
    draw_samples,
    flip_bit,
    is_same,
    list_losses,
    make_model,
    train_tiny,
)
from workflow_scripts.core.errors import Interrupted, UserError
from workflow_scripts.training.state import is_sealed

# Twenty steps, an evaluation per epoch, a saved state every three steps.
LORA = {"method": "lora", "lora_rank": 2, "lora_dropout": 0.2, "epochs": 2}
# The learning rate is too high for the best state to be the last; each new best is saved.
BEST = {"epochs": 2, "lr_scheduler": "linear", "select": "best", "eval_steps": 4}
BEST["learning_rate"] = 5e-3


class Killed(BaseException):
    """Simulate a kill of the training."""


def train(folder, changes):
    samples = {"samples": draw_samples(40), "held_out": draw_samples(6, seed=1)}
    return train_tiny(folder, "llama", **samples | changes)


def act_in_step(step, act):
    """Return a loader of a model that calls `act` with its outputs in one step of training."""

    def load(dtype):
        model = make_model("llama").to(getattr(torch, dtype))
        forward, calls = model.forward, count(1)

        def forward_and_act(*args, **kwargs):
            outputs = forward(*args, **kwargs)
            if model.training and next(calls) == step:
                act(outputs)
            return outputs

        model.forward = forward_and_act
        return model

    return load


def raise_killed(_outputs):
    raise Killed


def interrupt(folder, changes, step):
    with pytest.raises(Killed):
        train(folder, changes | {"load": act_in_step(step, raise_killed)})


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """Train once per set of changes, without a kill."""

    @cache
    def run(changes: str):
        return train(tmp_path_factory.mktemp("uninterrupted"), json.loads(changes))

    return lambda changes: run(json.dumps(changes))


def assert_same_outcome(resumed, expected):
    assert is_same(resumed.parameters, expected.parameters)
    for name in ("history", "selected", "facts"):
        assert getattr(resumed, name) == getattr(expected, name)


def test_unsealed_best_state_is_ignored(uninterrupted, tmp_path):
    interrupt(tmp_path, BEST, 14)
    newest = max(tmp_path.glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[1]))
    for path in newest.iterdir():
        if path.name != "model.safetensors":
            path.unlink()
    assert_same_outcome(train(tmp_path, BEST), uninterrupted(BEST))


def test_finished_training_adds_no_step(uninterrupted, tmp_path):
    changes = LORA | {"max_steps": 7}
    for _ in range(2):
        assert_same_outcome(train(tmp_path, changes), uninterrupted(changes))


def train_until_killed(folder):
    load = act_in_step(9, lambda _outputs: os.kill(os.getpid(), signal.SIGKILL))
    train(folder, LORA | {"load": load})


def test_resume_after_sigkill(uninterrupted, tmp_path):
    process = multiprocessing.get_context("fork").Process(
        target=train_until_killed, args=(tmp_path,)
    )
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert_same_outcome(train(tmp_path, LORA), uninterrupted(LORA))


def test_resume_after_signal(uninterrupted, tmp_path):
    """After a signal, the step is finished and saved, and the job exits with 75."""
    load = act_in_step(5, lambda _outputs: os.kill(os.getpid(), signal.SIGUSR1))
    with pytest.raises(Interrupted, match="step 5 of 20") as error:
        train(tmp_path, LORA | {"load": load})
    assert error.value.exit_code == 75
    assert_same_outcome(train(tmp_path, LORA), uninterrupted(LORA))


def test_damaged_state_is_removed(uninterrupted, tmp_path):
    """Training resumes from the state before the damaged one: 14 of 20 steps remain, and a 15th is killed."""
    interrupt(tmp_path, LORA, 11)
    flip_bit(tmp_path / "checkpoint-9/model.safetensors")
    resumed = train(tmp_path, LORA | {"load": act_in_step(15, raise_killed)})
    assert_same_outcome(resumed, uninterrupted(LORA))


def test_damaged_best_state_is_trained_again(uninterrupted, tmp_path):
    """Training resumes from a state before the damaged best one, because later states lack its weights."""
    expected = uninterrupted(BEST)
    interrupt(tmp_path, BEST, 20)
    best = expected.selected["step"]
    assert best < 18, "a later state could be resumed from"
    flip_bit(tmp_path / f"checkpoint-{best}/model.safetensors")
    assert_same_outcome(train(tmp_path, BEST), expected)


def test_foreign_state_is_not_used(tmp_path, capsys):
    for change in ({}, {"learning_rate": 2e-3}, {"seed": 1}, {"resume_key": {"weights": "others"}}):
        interrupt(tmp_path, LORA | change, 5)
    assert "Resuming" not in capsys.readouterr().out


def test_non_finite_loss_stops(uninterrupted, tmp_path):
    """Training stops at that step, and resumes from the last good state."""
    load = act_in_step(8, lambda outputs: outputs.logits.fill_(float("nan")))
    with pytest.raises(UserError, match="step 8 of 20: loss is"):
        train(tmp_path, LORA | {"load": load})
    assert is_sealed(tmp_path / "checkpoint-6") and not (tmp_path / "checkpoint-8").exists()
    assert_same_outcome(train(tmp_path, LORA), uninterrupted(LORA))


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
    trained = train_tiny(tmp_path / "a", load=load, **options)
    assert "Resuming from checkpoint-6." in capsys.readouterr().out
    assert trained.facts["micro_batch_size"] == 2
    assert [entry["step"] for entry in trained.history] == list(range(1, 9))
    whole = train_tiny(tmp_path / "b", "llama", **options)
    assert list_losses(trained) == pytest.approx(list_losses(whole), abs=1e-2)


def test_checkpointing_changes_no_weights(tmp_path):
    keys = {"method": "lora", "lora_rank": 2, "lora_dropout": 0.1, "max_steps": 3}
    plain = train_tiny(tmp_path / "a", "llama", **keys)
    checkpointed = train_tiny(tmp_path / "b", "llama", **keys, gradient_checkpointing="yes")
    assert is_same(plain.parameters, checkpointed.parameters)
