"""Run programs in subprocesses, and kill them at a given point."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.waiting import wait_until

ROOT = Path(__file__).parents[1]


def python(code: str, *arguments: Any, **environment: str) -> str:
    """Run Python code in the folder of the repository, and return its stdout."""
    run = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return run.stdout


def kill_when(condition: Callable[[], object], code: str, *arguments: Any) -> None:
    """Run Python code and kill it when `condition()` is true, which must happen before it ends."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            wait_until(lambda: condition() or process.poll() is not None, "it can be killed", 120)
            assert process.poll() is None, "it was to be killed before its end"
        finally:
            process.kill()


def run_small_workflow(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run Snakemake in a folder with a small workflow."""
    command = [sys.executable, "-m", "snakemake", "--cores", "1", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)
