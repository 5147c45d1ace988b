"""Trainings in processes of their own, forked from one that has imported everything, to be killed."""

import json
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

from tests.unit.training.small import drawn_samples, train_small
from workflow_scripts.core.errors import UserError

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["tests.unit.training.jobs", "peft", "transformers.trainer"])


def train_to_file(folder: Path, changes: dict[str, Any], kill: tuple[str, int] | None) -> None:
    """Train, and write what came of it, or what was said instead."""
    if kill is not None:
        _kill_in(*kill)
    with (folder / "log.txt").open("a", buffering=1) as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        options = {"samples": drawn_samples(40), "held_out": drawn_samples(6, seed=1), **changes}
        try:
            trained = train_small(folder / "state", **options)
        except UserError as error:
            log.write(f"{error}\n")
            raise SystemExit(error.exit_code) from None
    outcome = {name: getattr(trained, name) for name in ("history", "selected", "facts")}
    outcome["parameters"] = {n: p.flatten().tolist() for n, p in trained.parameters.items()}
    (folder / "outcome.json").write_text(json.dumps(outcome))


def _kill_in(where: str, call: int) -> None:
    """Kill the process in the n-th call of a function, before or after its work, or amid a file."""
    import torch

    from workflow_scripts.training import state, trainer

    moment, _, name = where.partition(" ")
    owner, function = {
        "optimiser": (torch, "save"),  # three of them make a saved state
        "weights": (trainer, "save_file"),
        "seal": (state, "write_json"),
        "evaluation": (trainer.PackedTrainer, "evaluate"),
        "step": (trainer.PackedTrainer, "training_step"),
        "train": (trainer.PackedTrainer, "train"),
    }[name]
    real, calls = getattr(owner, function), 0

    def mortal(*args, **kwargs):
        nonlocal calls
        calls += 1
        if calls == call and moment == "amid":
            Path(args[1]).write_bytes(b"half a file")
        if calls == call and moment != "after":
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*args, **kwargs)
        if calls == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, function, mortal)


def start(folder: Path, changes: dict[str, Any], kill: tuple[str, int] | None = None):
    folder.mkdir(parents=True, exist_ok=True)
    process = SERVER.Process(target=train_to_file, args=(folder, changes, kill))
    process.start()
    return process


def run(folder: Path, changes: dict[str, Any], kill: tuple[str, int] | None = None) -> int:
    process = start(folder, changes, kill)
    process.join()
    return process.exitcode


def outcome(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "outcome.json").read_text())
