"""Ctrl-C and a plain kill of a real Snakemake: its jobs are told to end, and it says so and gives all back."""

import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from tests.faults.misfortunes import is_alive
from tests.processes import ROOT
from tests.waiting import wait_until

# Each job notes its process, and lasts longer than any test waits.
SNAKEFILE = """
import sys, time
sys.path.insert(0, ROOT)
from workflow_scripts.bridge.closing import words_of_failure
from workflow_scripts.bridge.interruption import end_quietly_before_the_first_job, end_when_asked

if config.get("slow"):
    end_quietly_before_the_first_job()
    open("begun.txt", "w").close()
    time.sleep(600)

onstart:
    end_when_asked(workflow)

onerror:
    print(words_of_failure())

rule finished:
    output: "finished.txt"
    shell: "touch {output}"

rule saving:
    input: "finished.txt"
    output: "saving.txt"
    script: "saving.py"

rule stubborn:
    output: "stubborn.txt"
    shell: "trap '' TERM; echo $$ > begun.txt; sleep 600"
"""
SAVING = """
import os, signal, sys, time
from pathlib import Path

def save(number, frame):
    Path("saved.txt").write_text(signal.Signals(number).name)
    sys.exit(1)

signal.signal(signal.SIGTERM, save)
if Path("begun.txt").exists():
    Path(snakemake.output[0]).touch()
else:
    Path("begun.txt").write_text(str(os.getpid()))
    time.sleep(600)
"""


@pytest.fixture
def start(tmp_path):
    """Start a run in a terminal's group of its own, wait until its job has begun; ended in any case."""
    (tmp_path / "Snakefile").write_text(SNAKEFILE.replace("ROOT", repr(str(ROOT))))
    (tmp_path / "saving.py").write_text(SAVING)
    runs = []

    def started(*arguments: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "snakemake", "--cores", "1", "--rerun-incomplete"]
        with (tmp_path / "said.txt").open("w") as said:
            run = subprocess.Popen(
                [*command, *arguments],
                cwd=tmp_path,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        runs.append(run)
        begun = tmp_path / "begun.txt"
        wait_until(lambda: begun.exists() or run.poll() is not None, "its job begins")
        return run

    yield started
    for run in runs:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)


def ctrl_c(run: subprocess.Popen) -> None:
    os.killpg(run.pid, signal.SIGINT)


def kill(run: subprocess.Popen) -> None:
    run.send_signal(signal.SIGTERM)


@pytest.mark.parametrize(
    ("deed", "named"), [(ctrl_c, "Interrupted"), (kill, "Asked to end (SIGTERM)")]
)
def test_the_job_saves_the_run_says_so_and_the_same_command_resumes(start, tmp_path, deed, named):
    run = start("saving.txt")
    wait_until((tmp_path / "begun.txt").read_text, "it has said which process it is")
    deed(run)
    assert run.wait(timeout=120) == 1
    said = (tmp_path / "said.txt").read_text()
    assert f"{named}: the jobs are ended" in said
    assert "run the same command again" in said
    assert "Error" not in said and "Traceback" not in said, said
    assert (tmp_path / "saved.txt").read_text() == "SIGTERM"
    assert not is_alive(int((tmp_path / "begun.txt").read_text()))
    assert not (tmp_path / ".snakemake/locks").exists()
    assert (tmp_path / "finished.txt").exists()
    assert start("saving.txt").wait(timeout=120) == 0, (tmp_path / "said.txt").read_text()
    assert "rule finished" not in (tmp_path / "said.txt").read_text()


def test_a_job_that_does_not_end_when_told_is_killed(start, tmp_path):
    run = start("stubborn.txt")
    wait_until((tmp_path / "begun.txt").read_text, "it has said which process it is")
    kill(run)
    assert run.wait(timeout=120) == 1
    assert not is_alive(int((tmp_path / "begun.txt").read_text()))


@pytest.mark.parametrize("deed", [ctrl_c, kill])
def test_before_the_first_job_it_ends_in_a_sentence(start, tmp_path, deed):
    run = start("--config", "slow=1")
    deed(run)
    assert run.wait(timeout=120) == 1
    said = (tmp_path / "said.txt").read_text()
    assert "before the first job." in said
    assert "Traceback" not in said
