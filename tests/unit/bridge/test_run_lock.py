"""A lock that a killed run left is swept, a living run's is not, and jobs die with their run."""

import os
import shutil
import signal
import socket
import subprocess
import sys

import pytest

from tests.processes import ROOT
from workflow_scripts.bridge import run_lock
from workflow_scripts.core.files import this_boot

HOLDER = """
import sys, time
from pathlib import Path
from workflow_scripts.bridge.run_lock import hold_run_lock, sweep_stale_lock
state = Path(sys.argv[1])
sweep_stale_lock(state)
(state / "locks").mkdir(exist_ok=True)
(state / "locks/0.output.lock").write_text("results/scores.csv")
hold_run_lock(state)
print("holding", flush=True)
time.sleep(600)
"""


@pytest.fixture
def state(tmp_path):
    """With a lock that somebody has left."""
    lock = tmp_path / ".snakemake/locks/0.output.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("results/scores.csv\n")
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
    shutil.rmtree(state / "locks")  # it takes its own
    process = started(HOLDER, "holding\n", str(state))
    yield process
    process.kill()
    process.wait()


def test_the_lock_of_a_living_run_stays_and_that_of_a_killed_one_goes(state, run_in):
    run_lock.sweep_stale_lock(state)
    assert (state / "locks/0.output.lock").exists()
    run_lock._held.pop().close()  # whoever asked ends
    run_in.send_signal(signal.SIGKILL)
    run_in.wait()
    run_lock.sweep_stale_lock(state)
    assert not (state / "locks").exists()


def test_a_run_may_go_on_once_the_other_has_ended(state, run_in):
    assert not run_lock.hold_run_lock(state)
    run_in.kill()
    run_in.wait()
    assert run_lock.hold_run_lock(state)


def test_the_lock_of_another_host_or_of_a_run_we_know_nothing_of_stays(state):
    """However often somebody here asks."""
    for begun in ("", "", "another-host", "another-host", "another-host another-boot"):
        (state / "chorus.begun").write_text(begun)
        run_lock.sweep_stale_lock(state)
        assert (state / "locks/0.output.lock").exists()
        run_lock._held.pop().close()  # whoever asked ends


@pytest.mark.parametrize(
    "begun",
    [
        f"{socket.gethostname()} an-earlier-boot",
        f"{socket.gethostname()}",  # as it was written before boots were
        f"an-earlier-name {this_boot()}",
    ],
)
def test_the_lock_of_an_earlier_boot_goes_and_that_of_this_machine_under_another_name(state, begun):
    """A power cut, or a laptop in another network, a container that was started again."""
    (state / "chorus.begun").write_text(begun)
    run_lock.sweep_stale_lock(state)
    assert not (state / "locks").exists()


BEGINNER = """
import sys, time
from pathlib import Path
from workflow_scripts.bridge.run_lock import sweep_stale_lock
state = Path(sys.argv[1])
sweep_stale_lock(state)
(state / "locks").mkdir()
(state / "locks/0.output.lock").write_text("results/scores.csv")
print("locked", flush=True)
time.sleep(600)
"""


def test_a_lock_that_is_not_reported_yet_stays_while_its_run_lives_and_goes_when_it_was_killed(
    tmp_path,
):
    """Snakemake takes its lock first and may build environments before it reports to us."""
    state = tmp_path / ".snakemake"
    run = started(BEGINNER, "locked\n", str(state))
    try:
        run_lock.sweep_stale_lock(state)
        assert (state / "locks/0.output.lock").exists()
        run_lock._held.pop().close()  # ours ends
        run.kill()
        run.wait()
        run_lock.sweep_stale_lock(state)
        assert not (state / "locks").exists()
    finally:
        run.kill()
        run.wait()


def test_what_has_begun_beside_it_keeps_no_run_from_its_lock(state, run_in):
    """A plan, say, which begins while another run is about to report."""
    run_in.kill()
    run_in.wait()
    (state / "locks/0.output.lock").unlink()
    with started(PLAN, "begun\n", str(state)) as plan:
        run_lock.sweep_stale_lock(state)
        assert run_lock.hold_run_lock(state)
        plan.kill()


PLAN = """
import sys, time
from pathlib import Path
from workflow_scripts.bridge.run_lock import sweep_stale_lock
sweep_stale_lock(Path(sys.argv[1]))
print("begun", flush=True)
time.sleep(600)
"""

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
