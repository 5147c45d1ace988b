"""Odd clocks in a finished folder: nothing is made again for them."""

import os
import time

import pytest

from tests.workflow.grid import GRID, TARGETS
from tests.workflow.snakemake import run_snakemake

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

_DAY = 86_400


@pytest.mark.parametrize("skew", [-400 * _DAY, _DAY], ids=["past", "future"])
def test_files_of_another_clock_rerun_nothing(copied, skew):
    """A file server whose clock is off, or a hub that was copied with or without its times."""
    then = time.time() + skew
    for path in (copied / "resources").rglob("*"):
        os.utime(path, (then, then))
    result = run_snakemake(copied, *TARGETS, *GRID, "-n")
    assert "Nothing to be done" in result.stdout + result.stderr
