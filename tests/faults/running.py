"""A real Snakemake, killed or with one of its jobs killed, again and again until it comes to its end."""

import os
import random
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from tests.faults.outcome import Outcome, differences, half_written
from tests.results import results_of
from tests.workflow.grid import GRID, TARGETS, folder_with_hub
from tests.workflow.snakemake import start_snakemake

_EARLIEST, _LATEST = 3.0, 25.0  # seconds after its start


def kill_snakemake_often(finished: Path, folder: Path, rng: random.Random, kills: int) -> Outcome:
    """Kill all processes, Snakemake alone or one of its jobs, and run again until so many kills are done."""
    outcome = Outcome()
    expected = results_of(finished)
    while outcome.kills < kills:
        shutil.rmtree(folder, ignore_errors=True)
        folder_with_hub(finished, folder)
        while outcome.kills < kills:
            killed = _run(folder, rng.uniform(_EARLIEST, _LATEST), rng)
            if killed is None:
                break
            outcome.kills += killed
            outcome.lost += half_written(folder)
        else:
            _run(folder)
        outcome.runs += 1
        outcome.lost += differences(folder, expected)
    return outcome


def _run(folder: Path, kill_after: float | None = None, rng: random.Random | None = None):
    """Return the number of kills; None where the run came to its end before."""
    run = start_snakemake(folder, *TARGETS, *GRID)
    try:
        with suppress(subprocess.TimeoutExpired):
            status = run.wait(timeout=kill_after)
            assert status == 0, (folder / "snakemake.out").read_text()[-5000:]
            return None
        jobs = _jobs(run.pid)
        whom = rng.choice(["all", "snakemake", "job"])
        if whom == "all":
            os.killpg(run.pid, signal.SIGKILL)
        elif whom == "job" and jobs:
            with suppress(ProcessLookupError):
                os.kill(rng.choice(jobs), signal.SIGKILL)
            run.wait()  # it goes on with the others, and may fail for this one
        else:
            run.kill()
        run.wait()
        return 1
    finally:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)


def _jobs(session: int) -> list[int]:
    """The steps that run below a Snakemake: Python with a script of Snakemake's."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, IndexError):
            fields = path.read_text().rpartition(")")[2].split()
            words = (path.parent / "cmdline").read_bytes().split(b"\0")
            if int(fields[3]) == session and b".snakemake/scripts/" in words[1]:
                found.append(int(path.parent.name))
    return sorted(found)
