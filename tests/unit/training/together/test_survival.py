"""Killed at any moment, a group of trainings goes on to the very bytes of one left in peace."""

import os
import random
import signal
import time
from pathlib import Path

import pytest
from torch.optim.optimizer import register_optimizer_step_post_hook

from tests.tiny_models import tiny_model
from tests.unit.training.jobs import SERVER, outcome_of, written
from tests.unit.training.together.lessons import lessons, together
from tests.waiting import wait_until

SIZES = ((5, 9), (18, 24), (11, 40), (3, 5), (12, 14))


def train_to_file(folder: Path, slowly: bool) -> None:
    """What a process does: train the five, three at once, and write what came of each."""
    if slowly:  # or it would be done before anyone can tell it to leave
        register_optimizer_step_post_hook(lambda *_: time.sleep(0.03))
    model = tiny_model("llama", layers=2)
    asked = lessons(SIZES, lora_dropout=0.2, lora_rank=4, save_every=7)

    def work():
        found = together(model, asked, folder / "state", at_once=3)
        return {name: outcome_of(found[name]) for name in sorted(found)}

    written(folder, work)


def start(folder: Path, slowly: bool = False):
    folder.mkdir(parents=True, exist_ok=True)
    process = SERVER.Process(target=train_to_file, args=(folder, slowly))
    process.start()
    return process


def finish(folder: Path) -> str:
    process = start(folder)
    process.join()
    assert process.exitcode == 0, (folder / "log.txt").read_text()
    return (folder / "outcome.json").read_text()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> str:
    return finish(tmp_path_factory.mktemp("undisturbed"))


@pytest.mark.slow
def test_killed_at_random_moments(undisturbed, tmp_path):
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    rng, kills = random.Random(seed), 0
    while kills < int(os.environ.get("CHORUS_KILLS", "6")):
        process = start(tmp_path)
        process.join(rng.uniform(0.2, 2.5))
        if process.exitcode is None:
            process.kill()
            kills += 1
        process.join()
        if process.exitcode == 0:  # done before it was killed: once more from the beginning
            assert (tmp_path / "outcome.json").read_text() == undisturbed
            tmp_path = tmp_path / "again"
    assert finish(tmp_path) == undisturbed


def test_a_signal_saves_and_leaves(undisturbed, tmp_path):
    process = start(tmp_path, slowly=True)
    wait_until(lambda: list((tmp_path / "state").glob("checkpoint-*/seal.json")), "it saves")
    os.kill(process.pid, signal.SIGTERM)
    process.join()
    log = (tmp_path / "log.txt").read_text()
    assert process.exitcode == 75, log
    assert "SIGTERM: will save" in log and "Interrupted after step" in log
    assert finish(tmp_path) == undisturbed
    assert "Going on from checkpoint-" in (tmp_path / "log.txt").read_text()


def flip(path, at=-1):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damaged",
    [
        "outcome.safetensors",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("outcome.json", "best.json")),
    ],
)
def test_what_was_kept_of_a_training_and_damaged_is_trained_again(undisturbed, tmp_path, damaged):
    """With all that share its steps, whose sums it is part of."""
    process, state = start(tmp_path, slowly=True), tmp_path / "state"
    wait_until(lambda: saved_after_an_end(state), "one has ended, and the rest is saved")
    os.kill(process.pid, signal.SIGTERM)
    process.join()
    assert process.exitcode == 75
    for path in state.glob(f"[0-9]*/{damaged}"):
        if damaged != "best.json" or not path.with_name("outcome.json").exists():
            flip(path, -20)
            break
    assert finish(tmp_path) == undisturbed
    log = (tmp_path / "log.txt").read_text()
    assert "What was kept of a training is not whole: starting from the beginning." in log


def saved_after_an_end(state: Path) -> bool:
    ended = [path.stat().st_mtime_ns for path in state.glob("[0-9]*/outcome.json")]
    saved = [path.stat().st_mtime_ns for path in state.glob("checkpoint-*/seal.json")]
    return bool(ended and saved) and max(saved) > min(ended)
