"""Jobs of local runs: as many at once as there are GPUs, each with its own, which its death gives back."""

import os
import subprocess
import sys
from contextlib import ExitStack

import pytest

from tests.processes import ROOT
from tests.waiting import wait_until
from workflow_scripts.bridge import gpus

JOB = """
import os, sys, time
from pathlib import Path
from workflow_scripts.bridge.gpus import take_gpus
Path(sys.argv[2]).touch()
take_gpus({"gpu": int(sys.argv[1])})
print(os.environ["CUDA_VISIBLE_DEVICES"], flush=True)
time.sleep(600)
"""


@pytest.fixture
def start(tmp_path):
    """Start a job that wants so many of three GPUs; it says which it has, and keeps them."""
    with ExitStack() as stack:

        def started(wanted: int) -> subprocess.Popen:
            begun = tmp_path / f"{len(list(tmp_path.glob('begun*')))}.begun"
            process = subprocess.Popen(
                [sys.executable, "-c", JOB, str(wanted), str(begun)],
                cwd=ROOT,
                env=os.environ | {"CHORUS_GPUS": "0,1,GPU-a/b", "TMPDIR": str(tmp_path)},
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            wait_until(begun.exists, "it asks for GPUs")
            return process

        yield started


def has(job: subprocess.Popen) -> set[str]:
    return set(job.stdout.readline().strip().split(","))


def test_each_has_its_own_and_a_killed_one_gives_its_own_back(start):
    first, second = start(1), start(2)
    taken = has(first), has(second)
    assert [len(one) for one in taken] == [1, 2]
    assert taken[0] | taken[1] == {"0", "1", "GPU-a/b"}
    third = start(1)
    second.kill()
    second.wait()
    assert has(third) < taken[1]
    fourth = start(8)
    for job in (first, third):
        job.kill()
    assert has(fourth) == {"0", "1", "GPU-a/b"}, "all there are"


def test_a_folder_of_somebody_else_is_not_trusted(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("CHORUS_GPUS", "0")
    planted = tmp_path / f"chorus-gpus-{os.getuid()}"
    planted.symlink_to(tmp_path)
    with pytest.raises(gpus.UserError, match="belongs to somebody else"):
        gpus.take_gpus({"gpu": 1})


def test_what_hides_gpus_from_this_process_hides_them_from_its_jobs(monkeypatch):
    for visible, names in (("", []), ("-1", []), ("1, GPU-7f", ["1", "GPU-7f"]), ("0,-1", ["0"])):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        assert gpus.list_gpus() == names
