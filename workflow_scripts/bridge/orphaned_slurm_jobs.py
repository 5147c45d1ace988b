"""Slurm jobs of a run that was killed: they continue without it, and would write beside their successors.

Only the run that holds the folder's lock asks: whatever Slurm still has of this folder is then of a
run that is dead.
"""

import getpass
import shutil
import subprocess
import sys
import time
from pathlib import Path

_SECONDS, _POLL = 120, 2.0


def cancel_left_behind(folder: Path) -> list[str]:
    """Cancel the jobs that an earlier Snakemake submitted from this folder; wait until they are gone."""
    if shutil.which("squeue") is None:
        return []
    jobs = _jobs(folder)
    if not jobs:
        return []
    print(
        f"Slurm still has {len(jobs)} jobs of an earlier run of this folder; they are cancelled: "
        + ", ".join(jobs),
        file=sys.stderr,
    )
    cancel_jobs_of(folder)
    end = time.monotonic() + _SECONDS
    while (left := _jobs(folder)) and time.monotonic() < end:
        time.sleep(_POLL)
    if left:
        print(f"Slurm has not ended {', '.join(left)} yet.", file=sys.stderr)
    return jobs


def cancel_jobs_of(folder: Path) -> None:
    """Those that Snakemake submitted from there."""
    if jobs := _jobs(folder):
        subprocess.run(["scancel", *jobs], check=False, capture_output=True)


def _jobs(folder: Path) -> list[str]:
    """By the working directory and the comment that the executor gives its jobs."""
    command = ["squeue", "--noheader", "--user", getpass.getuser(), "--format", "%i|%Z|%k"]
    try:
        listed = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return []
    rows = [line.split("|", 2) for line in listed.stdout.splitlines() if line.count("|") >= 2]
    return [
        number.strip()
        for number, where, comment in rows
        if comment.startswith("rule_") and Path(where).resolve() == folder.resolve()
    ]
