"""Jobs of local runs: as many at once as there are GPUs, each with its own, which its death gives back."""

import os
import subprocess
import sys
from contextlib import ExitStack
from types import SimpleNamespace

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


def test_one_that_wants_more_than_there_are_has_them_all(start):
    assert has(start(8)) == {"0", "1", "GPU-a/b"}


def test_the_end_of_a_run_removes_the_locks_that_no_job_holds(start, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first, second = start(1), start(1)
    held = has(first)
    assert held.isdisjoint(has(second))
    second.kill()
    second.wait()
    gpus._remove_free_locks()
    assert len([*tmp_path.glob("chorus-gpus-*/*")]) == 1
    assert held.isdisjoint(has(start(2)))


def test_a_folder_of_somebody_else_is_not_trusted(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("CHORUS_GPUS", "0")
    planted = tmp_path / f"chorus-gpus-{os.getuid()}"
    planted.symlink_to(tmp_path)
    with pytest.raises(gpus.UserError, match="belongs to somebody else"):
        gpus.take_gpus({"gpu": 1})


@pytest.mark.parametrize(
    ("asked", "limit"), [([1, 0, 1], {"gpu": 2}), ([1, 4], {"gpu": 4}), ([], {"gpu": 2})]
)
def test_a_job_that_asks_for_more_than_there_are_is_started_all_the_same(asked, limit, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    monkeypatch.setenv("CHORUS_GPUS", "")
    known = {}
    workflow = SimpleNamespace(
        executor_plugin=SimpleNamespace(common_settings=SimpleNamespace(local_exec=True)),
        global_resources={},
        register_resource=known.__setitem__,
        dag=SimpleNamespace(
            needrun_jobs=lambda: [SimpleNamespace(resources={"gpu": n}) for n in asked]
        ),
        scheduler=SimpleNamespace(global_resources={}),
    )
    gpus.share_gpus(workflow)
    assert known == workflow.scheduler.global_resources == limit


@pytest.mark.parametrize(
    ("visible", "found"),
    [("", []), ("-1", []), ("2,3", ["2", "3"]), ("1, GPU-7f", ["1", "GPU-7f"]), ("0,-1,2", ["0"])],
)
def test_what_hides_gpus_from_this_process_hides_them_from_its_jobs(visible, found, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpus.gpus_here() == found
