"""What many tests look at and takes minutes to make: one worker makes it, the others get a copy."""

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
    """Return a folder that `make` has filled, and the result of `make`, which must go into a pickle."""
    own = factory.mktemp(name)
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return own, make(own)
    shared = factory.getbasetemp().parent / name  # of this run of pytest
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
    """Make a folder that stays until the tests have ended."""
    folder = mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _copy(source: Path, target: Path) -> None:
    """Copy a folder with its times, or Snakemake would take all of it for out of date, and with its hard links."""
    subprocess.run(["cp", "-a", f"{source}/.", target], check=True)
