"""What many tests look at and takes minutes to make: one worker makes it, the others get a copy."""

import fcntl
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def made_once(
    factory: pytest.TempPathFactory, name: str, make: Callable[[Path], Any]
) -> tuple[Path, Any]:
    """A folder that `make` has filled, and what `make` gave back, which must go into a pickle."""
    own = factory.mktemp(name)
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return own, make(own)
    shared = factory.getbasetemp().parent / name  # of this run of pytest
    told = shared.with_suffix(".pickle")
    with shared.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not told.exists():
            given = make(own)
            shutil.copytree(own, shared, symlinks=True)
            told.write_bytes(pickle.dumps(given))
            return own, given
    # With its times, or Snakemake would take all of it for out of date.
    shutil.copytree(shared, own, symlinks=True, dirs_exist_ok=True)
    return own, pickle.loads(told.read_bytes())
