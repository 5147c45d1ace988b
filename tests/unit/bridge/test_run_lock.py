"""A lock that a killed run left is swept, a living run's is not, and jobs die with their run."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from tests.processes import ROOT
from workflow_scripts.bridge import run_lock

HOLDER = """
import sys, time
from pathlib import Path
from workflow_scripts.bridge.run_lock import hold_run_lock
hold_run_lock(Path(sys.argv[1]))
print("holding", flush=True)
time.sleep(600)
"""


@pytest.fixture
def state(tmp_path):
    """What Snakemake leaves when it is killed."""
    locks = tmp_path / ".snakemake/locks"
    locks.mkdir(parents=True)
    lock = locks / "0.output.lock"
    lock.write_text("results/scores.csv\n")
    past = time.time() - 60
    os.utime(lock, (past, past))
    return tmp_path / ".snakemake"


@pytest.fixture(autouse=True)
def nothing_is_held_after_a_test(monkeypatch):
    monkeypatch.setattr(run_lock, "_held", [])
    monkeypatch.setenv(run_lock._MAIN, "")


def started(code: str, word: str, *arguments: str, **environment: str) -> subprocess.Popen:
    """A process that has said that it is where it is wanted."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | environment,
    )
    assert process.stdout.readline() == word
    return process


@pytest.fixture
def run_in(state):
    process = started(HOLDER, "holding\n", str(state))
    yield process
    process.kill()
    process.wait()


def test_the_lock_of_a_living_run_stays_and_that_of_a_killed_one_goes(state, run_in):
    run_lock.sweep_stale_lock(state)
    assert (state / "locks/0.output.lock").exists()
    run_in.send_signal(signal.SIGKILL)
    run_in.wait()
    run_lock.sweep_stale_lock(state)
    assert not (state / "locks").exists()


def test_a_run_may_go_on_once_the_other_has_ended(state, run_in):
    assert not run_lock.hold_run_lock(state)
    assert (state / "chorus.lock").read_text() == socket.gethostname()
    run_in.kill()
    run_in.wait()
    assert run_lock.hold_run_lock(state)


def test_the_lock_of_another_host_or_of_a_run_we_know_nothing_of_stays(state):
    run_lock.sweep_stale_lock(state)
    assert (state / "locks/0.output.lock").exists()
    (state / "chorus.lock").write_text("another-host")
    run_lock.sweep_stale_lock(state)
    assert (state / "locks/0.output.lock").exists()


def test_a_lock_younger_than_the_last_report_may_be_a_living_runs_and_stays(state):
    """Snakemake takes its lock first and may build environments before it reports to us."""
    report = state / "chorus.lock"
    report.write_text(socket.gethostname())
    past = time.time() - 3600
    os.utime(report, (past, past))
    run_lock.sweep_stale_lock(state)
    assert (state / "locks/0.output.lock").exists()
    os.utime(report)
    run_lock.sweep_stale_lock(state)
    assert not (state / "locks").exists()


JOB = """
import time
from workflow_scripts.bridge.run_lock import end_with_the_run
end_with_the_run()
print("working", flush=True)
time.sleep(600)
"""


def start_job(main: int, **environment: str) -> subprocess.Popen:
    of_run = {run_lock._MAIN: f"{socket.gethostname()}:{main}"}
    return started(JOB, "working\n", **of_run, **environment)


def test_a_job_ends_when_its_run_was_killed(run_in):
    job = start_job(run_in.pid)
    try:
        assert job.poll() is None
        run_in.kill()
        run_in.wait()
        assert job.wait(timeout=60) == 1
    finally:
        job.kill()


def test_a_job_of_slurm_goes_on_without_the_process_that_submitted_it(run_in):
    job = start_job(run_in.pid, SLURM_JOB_ID="7")
    try:
        run_in.kill()
        run_in.wait()
        with pytest.raises(subprocess.TimeoutExpired):
            job.wait(timeout=4 * run_lock.POLL_SECONDS)
    finally:
        job.kill()
        job.wait()
