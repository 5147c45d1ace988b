"""Trainings in processes of their own, forked from one that has imported everything, to be killed."""

import json
import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.unit.training.small import drawn_samples, train_small
from workflow_scripts.core.errors import UserError

# What is trained in them, in a few dozen steps.
VARIANTS: dict[str, dict[str, Any]] = {
    "full": {"kind": "qwen2"},
    "freeze": {"kind": "fused", "method": "freeze", "trains": ["wrapper"]},
    "lora": {"kind": "llama", "method": "lora", "lora_rank": 2, "lora_dropout": 0.2},
}
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["tests.unit.training.jobs", "peft", "transformers.trainer"])


def outcome_of(trained) -> dict[str, Any]:
    values = {name: tensor.flatten().tolist() for name, tensor in trained.parameters.items()}
    told = {name: getattr(trained, name) for name in ("history", "selected", "facts")}
    return {"parameters": values} | told


def train_to_file(folder: Path, changes: dict[str, Any], die: tuple[str, int] | None) -> None:
    """What a process does: train, and write what came of it."""
    if die is not None:
        _die(*die)
    options = {"samples": drawn_samples(40), "held_out": drawn_samples(6, seed=1), **changes}
    written(folder, lambda: outcome_of(train_small(folder / "state", **options)))


def written(folder: Path, work: Callable[[], Any]) -> None:
    """What comes of some work, and what it says meanwhile, an error too."""
    with (folder / "log.txt").open("a", buffering=1) as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        try:
            found = work()
        except UserError as error:
            log.write(f"{error}\n")
            raise SystemExit(error.exit_code) from None
    (folder / "outcome.json").write_text(json.dumps(found))


def _die(where: str, time: int) -> None:
    """Let the process be killed in the n-th call of a function, before or after its work."""
    import torch

    from workflow_scripts.training import state, trainer

    moment, _, name = where.partition(" ")
    place, function = {
        "optimiser state": (torch, "save"),  # three of them make a saved state
        "weights": (trainer, "save_file"),
        "seal": (state, "write_json"),
        "evaluation": (trainer.PackedTrainer, "evaluate"),
        "step": (trainer.PackedTrainer, "training_step"),
        "train": (trainer.PackedTrainer, "train"),
    }[name]
    real, calls = getattr(place, function), 0

    def mortal(*args, **kwargs):
        nonlocal calls
        calls += 1
        if calls == time and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        if calls == time and moment == "amid":  # half a file
            Path(args[1]).write_bytes(b"half a file")
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*args, **kwargs)
        if calls == time:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(place, function, mortal)


def start(folder: Path, changes: dict[str, Any], die: tuple[str, int] | None = None):
    folder.mkdir(parents=True, exist_ok=True)
    process = SERVER.Process(target=train_to_file, args=(folder, changes, die))
    process.start()
    return process


def run(folder: Path, changes: dict[str, Any], die: tuple[str, int] | None = None) -> int:
    process = start(folder, changes, die)
    process.join()
    return process.exitcode


def outcome(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "outcome.json").read_text())
