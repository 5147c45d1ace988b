"""Killed at any moment, a training goes on to the very weights and curve of one left in peace."""

import os
import signal
from functools import cache

import pytest

from tests.unit.training.jobs import outcome, run, start
from tests.waiting import wait_until

# Twenty steps, an evaluation each epoch, a state each three steps.
LORA = {"kind": "llama", "method": "lora", "lora_rank": 2, "lora_dropout": 0.2, "epochs": 2}
# Learns too fast to stay at its best until the end; a state is saved with each new best.
BEST = {
    "epochs": 2,
    "schedule": "linear",
    "select": "best",
    "evaluate_every": 4,
    "learning_rate": 5e-3,
}
WITHIN_AN_EPOCH = LORA | {"max_steps": 7}
LONG = LORA | {"save_every": 1000, "epochs": 6}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What comes of each training by itself; made once."""

    @cache
    def train(keys: tuple) -> dict:
        folder = tmp_path_factory.mktemp("undisturbed")
        assert run(folder, dict(keys)) == 0
        return outcome(folder)

    return lambda changes: train(tuple(changes.items()))


@pytest.mark.parametrize(
    ("changes", "where", "call"),
    [
        (LORA, "before step", 9),
        (LORA, "amid weights", 2),
        (LORA, "amid optimiser", 4),
        (LORA, "before seal", 3),
        (LORA, "after evaluation", 2),
        (LORA, "after train", 1),  # all is trained, and nothing is written
        (BEST, "after weights", 5),
        (WITHIN_AN_EPOCH, "after train", 1),  # starting again would make another step
    ],
)
def test_killed_at_this_moment(undisturbed, tmp_path, changes, where, call):
    assert run(tmp_path, changes, (where, call)) == -signal.SIGKILL
    assert run(tmp_path, changes) == 0
    assert outcome(tmp_path) == undisturbed(changes)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_saves_and_leaves(undisturbed, tmp_path, number):
    process = start(tmp_path, LONG)
    log = tmp_path / "log.txt"
    wait_until(lambda: log.exists() and "it/s" in log.read_text(), "it trains")
    os.kill(process.pid, number)
    process.join()
    assert process.exitcode == 75, log.read_text()
    (saved,) = (tmp_path / "state").glob("checkpoint-*")
    assert int(saved.name.partition("-")[2]) < 60, "it leaves after its step"
    assert run(tmp_path, LONG) == 0
    assert f"Resuming from {saved.name}." in log.read_text()
    assert outcome(tmp_path) == undisturbed(LONG)


def flip(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


DAMAGES = {
    "none": lambda folder: None,
    "cut short": lambda folder: os.truncate(folder / "optimizer.pt", 100),
    "a bit": lambda folder: flip(folder / "model.safetensors"),
    "a broken seal": lambda folder: (folder / "seal.json").write_text('{"model.saf'),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_state_that_is_not_valid_is_removed(undisturbed, tmp_path, damage):
    run(tmp_path, LORA, ("before step", 11))
    DAMAGES[damage](tmp_path / "state/checkpoint-9")
    assert run(tmp_path, LORA) == 0
    resumed = f"Resuming from checkpoint-{9 if damage == 'none' else 6}."
    assert resumed in (tmp_path / "log.txt").read_text()
    assert outcome(tmp_path) == undisturbed(LORA)


def test_a_best_state_that_is_not_valid_is_trained_again(undisturbed, tmp_path):
    """From a state before it: no later one knows what the weights were then."""
    expected = undisturbed(BEST)
    assert run(tmp_path, BEST, ("before step", 20)) == -signal.SIGKILL
    best = expected["selected"]["step"]
    assert best < 18, "behind it lies a state to resume from"
    flip(tmp_path / f"state/checkpoint-{best}/model.safetensors")
    assert run(tmp_path, BEST) == 0
    assert "checkpoint-18 is not valid: removed." in (tmp_path / "log.txt").read_text()
    assert outcome(tmp_path) == expected


def test_nothing_is_taken_over_from_another_training(tmp_path):
    for change in ({}, {"learning_rate": 2e-3}, {"seed": 1}, {"belongs_to": {"weights": "others"}}):
        run(tmp_path, LORA | change, ("before step", 5))
    assert "Resuming" not in (tmp_path / "log.txt").read_text()
