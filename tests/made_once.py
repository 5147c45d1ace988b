"""Share slow test data between xdist workers: one worker builds the data, the others copy it."""

import atexit
import fcntl
import os
import pickle
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest


def make_once(
    factory: pytest.TempPathFactory, name: str, make: Callable[[Path], Any]
) -> tuple[Path, Any]:
    """Return a folder filled by `make`, and the result of `make`, which must be picklable."""
    own = factory.mktemp(name)
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return own, make(own)
    shared = factory.getbasetemp().parent / name  # common to all workers of this pytest run
    result_path = shared.with_suffix(".pickle")
    with shared.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not result_path.exists():
            result = make(own)
            _copy(own, shared)
            result_path.write_bytes(pickle.dumps(result))
            return own, result
    _copy(shared, own)
    return own, pickle.loads(result_path.read_bytes())


def make_temporary_folder() -> Path:
    """Create a folder that is removed when the tests end."""
    folder = mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _copy(source: Path, target: Path) -> None:
    """Copy a folder with hard links and modification times, without which Snakemake would rerun everything."""
    subprocess.run(["cp", "-a", f"{source}/.", target], check=True)
