"""Several processes train what one would; one that leaves takes the others along, and says why."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from tests.faults.misfortunes import is_alive
from tests.processes import ROOT
from tests.unit.training.stage import stage_inputs, stage_request
from tests.waiting import wait_until
from workflow_scripts.core.errors import Interrupted, UserError
from workflow_scripts.core.machine import MachineFault
from workflow_scripts.core.training_record import read_training_record
from workflow_scripts.training import side_by_side

# What a process that starts a training runs; the steps around it are those of the rule.
PARENT = """
import json, sys
from pathlib import Path
from types import SimpleNamespace
import runpy
about = json.loads(sys.argv[1])
snakemake = SimpleNamespace(
    rule="train_checkpoint",
    log=[about["log"]],
    threads=1,
    input={"base": about["base"], "samples": about["samples"]},
    output={"manifest": about["folder"] + "/manifest.json", "record": about["record"]},
    params={"version": "1", "request": about["request"]},
    wildcards={},
)
runpy.run_module("workflow_scripts.steps.train_checkpoint", init_globals={"snakemake": snakemake})
"""

EPOCHS = 12  # a training that is told to leave should not be over before it is


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return stage_inputs(tmp_path_factory.mktemp("inputs"))


class Job:
    """The rule's script, in a folder of its own."""

    def __init__(self, inputs, folder: Path, **changes):
        folder.mkdir(exist_ok=True)
        self.folder, self.log = folder, folder / "log.txt"
        request = stage_request(**{"epochs": EPOCHS} | changes)
        paths = {"folder": str(folder / "out"), "record": str(folder / "record.json")}
        self.about = inputs | paths | {"log": str(self.log), "request": request.as_params()}

    def start(self, **environment) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-c", PARENT, json.dumps(self.about)],
            cwd=ROOT,
            env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
        )

    def run(self) -> int:
        return self.start().wait()

    @property
    def said(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    @property
    def record(self):
        return read_training_record(self.folder / "record.json")

    @property
    def weights(self) -> dict[str, torch.Tensor]:
        return load_file(self.folder / "out/model.safetensors")


@pytest.fixture(scope="module")
def alone(inputs, tmp_path_factory):
    job = Job(inputs, tmp_path_factory.mktemp("alone"))
    assert job.run() == 0, job.said
    return job


@pytest.fixture(scope="module")
def both(inputs, tmp_path_factory):
    job = Job(inputs, tmp_path_factory.mktemp("both"), gpus=2)
    assert job.run() == 0, job.said
    return job


@pytest.mark.slow
def test_two_train_what_one_trains(alone, both):
    """In steps of which the last of an epoch does not come out even."""
    assert both.record.facts["steps"] == alone.record.facts["steps"] == 10 * EPOCHS
    for one, two in zip(alone.record.curve, both.record.curve, strict=True):
        assert (one.step, one.epoch) == (two.step, two.epoch)
        if one.loss is None:
            assert two.held_out["loss"] == pytest.approx(one.held_out["loss"], abs=1e-4)
        else:
            assert two.loss == pytest.approx(one.loss, abs=1e-4)
            assert two.grad_norm == pytest.approx(one.grad_norm, rel=1e-3)
    moved = {n: t for n, t in both.weights.items() if not torch.equal(t, alone.weights[n])}
    for name in moved:
        assert torch.allclose(both.weights[name], alone.weights[name], atol=1e-4), name


def children_of(process: int) -> list[int]:
    """Those that train; another writes the log."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            if parent == process and b"side_by_side" in (path.parent / "cmdline").read_bytes():
                found.append(int(path.parent.name))
        except (OSError, ValueError):
            continue
    return sorted(found)


@contextmanager
def training(job: Job):
    """Its process once it trains, which ends with the test whatever becomes of that."""
    process = job.start()
    try:
        wait_until(lambda: "it/s" in job.said, "it trains")
        yield process
    finally:
        process.kill()  # and its children with it
        process.wait()


@pytest.mark.slow
def test_asked_to_leave_they_save_and_the_same_comes_of_it(inputs, both, tmp_path):
    job = Job(inputs, tmp_path, gpus=2)
    with training(job) as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 75, job.said
    assert "Interrupted" in job.said
    (saved,) = sorted((tmp_path / ".out.training").glob("checkpoint-*"))[-1:]
    held = {path.name for path in saved.iterdir()}
    assert {"rng_state_0.pth", "rng_state_1.pth", "seal.json"} <= held
    assert set(json.loads((saved / "seal.json").read_text())) == held - {"seal.json"}
    assert job.run() == 0, job.said
    assert "Resuming from" in job.said
    assert job.record.curve == both.record.curve
    assert all(torch.equal(job.weights[name], tensor) for name, tensor in both.weights.items())


@pytest.mark.slow
def test_one_that_dies_takes_the_others_along(inputs, both, tmp_path):
    job = Job(inputs, tmp_path, gpus=2, epochs=200)
    with training(job) as process:
        children = children_of(process.pid)
        os.kill(children[-1], signal.SIGKILL)
        assert process.wait() == 1
    assert "A process of the training ended with" in job.said
    assert not [child for child in children if Path(f"/proc/{child}").exists()]


@pytest.mark.slow
def test_they_end_with_the_process_that_started_them(inputs, tmp_path):
    """Or they would go on writing states beside those of the next run."""
    job = Job(inputs, tmp_path, gpus=2, epochs=200)
    with training(job) as process:
        children = children_of(process.pid)
        assert len(children) == 2
        process.kill()
        process.wait()
    wait_until(lambda: not any(is_alive(child) for child in children), "they end", 20)


class Ended:
    """A process that ends so many polls from now."""

    def __init__(self, code: int, polls: int = 0):
        self._code, self._polls = code, polls

    def poll(self):
        self._polls -= 1
        return self._code if self._polls < 0 else None

    def kill(self):
        pass

    def wait(self):
        return self._code


CODES = [(75, 1, Interrupted), (71, 1, MachineFault), (-9, 0, UserError), (0, 0, None)]


@pytest.mark.parametrize(("code", "other", "error"), CODES)
@pytest.mark.parametrize("polls", [0, 3])
def test_the_process_that_drew_the_others_down_is_believed(monkeypatch, code, other, error, polls):
    """Those that lose touch may be seen to fail before the one that left; out of memory starts all again."""
    monkeypatch.setattr(side_by_side.time, "sleep", lambda seconds: None)
    pairs = [[Ended(76), Ended(1)], [Ended(other), Ended(code, polls)]]
    processes = iter([process for pair in pairs for process in pair])
    monkeypatch.setattr(side_by_side.subprocess, "Popen", lambda *_, **__: next(processes))
    request = SimpleNamespace(as_params=dict, keys=SimpleNamespace(gpus=2))
    with nullcontext() if error is None else pytest.raises(error):
        side_by_side.train_side_by_side({}, request)
    assert not list(processes)
