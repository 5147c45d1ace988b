"""Test that a run killed at random times gives the same bytes. KILLS is their number, SEED their random seed."""

import os
import random
import signal
import subprocess

import pytest

from tests.results import read_results
from tests.workflow.grid import GRID, TARGETS, copy_hub
from tests.workflow.snakemake import run_snakemake, start_snakemake
from workflow_scripts.core.records import read_record

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

_EARLIEST, _LATEST = 3.0, 25.0  # seconds after the start of a run


def test_kills_lose_nothing(finished_grid, tmp_path):
    kills, seed = int(os.environ.get("KILLS", "3")), int(os.environ.get("SEED", "1"))
    rng = random.Random(seed)
    folder = copy_hub(finished_grid, tmp_path / "killed")
    for _ in range(kills):
        run = start_snakemake(folder, *TARGETS, *GRID)
        try:
            run.wait(timeout=rng.uniform(_EARLIEST, _LATEST))
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
        # Deeper folders have training states, and links with other names.
        for record in (folder / "results/records").glob("*/*/*/*.json"):
            read_record(record)  # complete or absent
        unlocked = run_snakemake(folder, "--unlock", *GRID)
        assert unlocked.returncode == 0, unlocked.stderr
    result = run_snakemake(folder, *TARGETS, *GRID, "--cores", "1")
    assert result.returncode == 0, result.stdout + result.stderr
    assert read_results(folder) == read_results(finished_grid)
    assert not [path for path in folder.rglob(".*.tmp-*") if ".home" not in path.parts]
