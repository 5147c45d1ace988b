"""Test GPU allocation to local jobs: each job has its own GPUs, which are free again when it dies."""

import os
import subprocess
import sys
from contextlib import ExitStack

import pytest

from tests.processes import ROOT
from workflow_scripts.bridge import gpus

JOB = """
import os, sys, time
from workflow_scripts.bridge.gpus import reserve_gpus
reserve_gpus({"gres": f"gpu:a100:{sys.argv[1]}"})
print(os.environ["CUDA_VISIBLE_DEVICES"], flush=True)
time.sleep(600)
"""


@pytest.fixture
def start(tmp_path):
    """Start a job that takes `number` of three GPUs, prints their names, and holds them."""
    environment = os.environ | {"CHORUS_GPUS": "0,1,GPU-a/b", "TMPDIR": str(tmp_path)}
    with ExitStack() as stack:

        def start(number: int) -> subprocess.Popen:
            command = [sys.executable, "-c", JOB, str(number)]
            process = subprocess.Popen(
                command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield start


def read_gpus(job: subprocess.Popen) -> set[str]:
    return set(job.stdout.readline().strip().split(","))


def test_reserve_gpus(start):
    first, second = start(1), start(2)
    shares = read_gpus(first), read_gpus(second)
    assert list(map(len, shares)) == [1, 2] and set.union(*shares) == {"0", "1", "GPU-a/b"}
    third = start(1)
    second.kill()
    assert read_gpus(third) < shares[1]


@pytest.mark.parametrize(
    ("visible", "names"), [("", []), ("-1", []), ("1, GPU-7f", ["1", "GPU-7f"]), ("0,-1", ["0"])]
)
def test_list_gpus(monkeypatch, visible, names):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpus.list_gpus() == names
