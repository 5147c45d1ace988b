"""Killed at any moment, a training goes on to the very weights and curve of one left in peace."""

import json
import os
import random
import signal
import time

import pytest

from tests.unit.training.jobs import VARIANTS, outcome, run, start
from tests.waiting import wait_until

# Twenty steps, an evaluation each epoch, a state each three steps.
USUAL = {"epochs": 2, "schedule": "linear"}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What each variant comes to by itself, with its keys; made once."""
    folder, made = tmp_path_factory.mktemp("undisturbed"), {}

    def of(name: str, **more) -> dict:
        changes = VARIANTS[name] | USUAL | more
        key = json.dumps(changes)
        if key not in made:
            began = time.monotonic()
            assert run(folder / str(len(made)), changes) == 0
            made[key] = changes, outcome(folder / str(len(made))), time.monotonic() - began
        return made[key]

    return of


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_killed_at_random_moments(undisturbed, tmp_path, name):
    changes, expected, seconds = undisturbed(name)
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    rng, kills, reach = random.Random(seed), 0, 0.7 * seconds
    folder = tmp_path / "0"
    while kills < 7:
        process = start(folder, changes)
        process.join(rng.uniform(0, reach))
        if process.exitcode is None:
            process.kill()
            process.join()
            kills += 1
        elif kills:
            break
        else:  # faster than the undisturbed one, which paid for the imports: once more, killed sooner
            folder, reach = tmp_path / f"{reach}", reach / 2
    assert run(folder, changes) == 0
    assert outcome(folder) == expected


# Which kill, of what is trained with which keys.
LORA = ("lora", {})
# Learns too fast to stay at its best until the end; a state is saved with each new best.
BEST = ("full", {"select": "best", "evaluate_every": 4, "learning_rate": 5e-3})
MOMENTS = [
    *((LORA, f"before {what}", time) for what, time in (("train", 1), ("step", 9), ("weights", 2))),
    *((LORA, f"{when} weights", 2) for when in ("amid", "after")),
    *((LORA, "amid optimiser state", 4), (LORA, "after optimiser state", 6)),
    *((LORA, "before seal", 3), (LORA, "after seal", 3)),
    *((LORA, "before evaluation", 1), (LORA, "after evaluation", 2)),
    (LORA, "after seal", 8),  # the last: all is trained, and nothing is written
    (LORA, "after train", 1),
    *((BEST, f"{when} weights", 5) for when in ("before", "amid", "after")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("what", "where", "time"), MOMENTS, ids=str)
def test_killed_at_this_moment(undisturbed, tmp_path, what, where, time):
    name, more = what
    changes, expected, _ = undisturbed(name, **more)
    assert what is not BEST or expected["selected"]["step"] < 20
    assert run(tmp_path, changes, (where, time)) == -signal.SIGKILL
    assert run(tmp_path, changes) == 0
    assert outcome(tmp_path) == expected


def test_ending_within_an_epoch_makes_no_step_more_after_a_kill(undisturbed, tmp_path):
    """A loop that starts again where all steps are done would make another."""
    changes, expected, _ = undisturbed("full", max_steps=7, schedule="constant")
    assert run(tmp_path, changes, ("after train", 1)) == -signal.SIGKILL
    assert run(tmp_path, changes) == 0
    assert outcome(tmp_path) == expected
    assert expected["facts"]["steps"] == 7


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1], ids=lambda number: number.name)
def test_a_signal_saves_and_leaves(undisturbed, tmp_path, number):
    changes, expected, _ = undisturbed("freeze", save_every=1000, epochs=6)
    process = start(tmp_path, changes)
    log = tmp_path / "log.txt"
    wait_until(lambda: log.exists() and "it/s" in log.read_text(), "it trains")
    os.kill(process.pid, number)
    process.join()
    said = log.read_text()
    assert process.exitcode == 75, said
    assert f"{signal.Signals(number).name}: will save" in said
    (saved,) = (tmp_path / "state").glob("checkpoint-*")
    step = saved.name.partition("-")[2]
    assert int(step) < 60, "it leaves after its step, not when it is through"
    assert f"Interrupted after step {step} of 60, which is saved" in said
    assert run(tmp_path, changes) == 0
    assert f"Resuming from checkpoint-{step}." in log.read_text()
    assert outcome(tmp_path) == expected


def flip(path, at=-1):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


DAMAGES = {
    "none": lambda folder: None,
    "cut short": lambda folder: os.truncate(folder / "optimizer.pt", 100),
    "a bit": lambda folder: flip(folder / "model.safetensors"),
    "a file lost": lambda folder: (folder / "scheduler.pt").unlink(),
    "a broken seal": lambda folder: (folder / "seal.json").write_text('{"model.saf'),
    "no seal": lambda folder: (folder / "seal.json").unlink(),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_state_that_is_not_valid_is_removed(undisturbed, tmp_path, damage):
    changes, expected, _ = undisturbed("full")
    run(tmp_path, changes, ("before step", 11))
    saved = tmp_path / "state/checkpoint-9"
    DAMAGES[damage](saved)
    assert run(tmp_path, changes) == 0
    log = (tmp_path / "log.txt").read_text()
    removed = "checkpoint-9 is not valid: removed." in log
    assert removed == (damage != "none")
    assert f"Resuming from checkpoint-{6 if removed else 9}." in log
    assert outcome(tmp_path) == expected


def test_a_best_state_that_is_not_valid_is_trained_again(undisturbed, tmp_path):
    """From a state before it: no later one knows what the weights were then."""
    name, more = BEST
    changes, expected, _ = undisturbed(name, **more)
    assert run(tmp_path, changes, ("before step", 20)) == -signal.SIGKILL
    best = expected["selected"]["step"]
    assert best < 18, "behind it lies a state to resume from"
    flip(tmp_path / f"state/checkpoint-{best}/model.safetensors")
    assert run(tmp_path, changes) == 0
    assert "checkpoint-18 is not valid: removed." in (tmp_path / "log.txt").read_text()
    assert outcome(tmp_path) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [{"learning_rate": 2e-3}, {"seed": 1}, {"belongs_to": {"weights": "others"}}],
    ids=lambda change: next(iter(change)),
)
def test_nothing_is_taken_over_from_another_training(tmp_path, change):
    changes = VARIANTS["full"] | USUAL | {"select": "best"}
    run(tmp_path / "other", changes, ("before step", 13))
    assert run(tmp_path / "other", changes | change) == 0
    log = (tmp_path / "other/log.txt").read_text()
    assert "The state is of another training" in log
    assert "Resuming" not in log
    assert run(tmp_path / "fresh", changes | change) == 0
    assert outcome(tmp_path / "other") == outcome(tmp_path / "fresh")


def test_states_take_the_room_of_two(tmp_path):
    run(tmp_path, VARIANTS["full"] | USUAL, ("before step", 20))
    kept = sorted(path.name for path in (tmp_path / "state").glob("checkpoint-*"))
    assert kept == ["checkpoint-15", "checkpoint-18"]


def test_a_state_holds_what_is_trained_and_no_more(tmp_path):
    from safetensors import safe_open

    run(tmp_path, VARIANTS["freeze"] | USUAL, ("before step", 5))
    with safe_open(tmp_path / "state/checkpoint-3/model.safetensors", "pt") as saved:
        names = list(saved.keys())
    assert names and all("wrapped_chunk_layers" in name for name in names)
