"""A sample of what `make test-faults` does at length."""

import subprocess
import sys

import pytest

from tests.workflow.snakemake import ROOT

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


def test_kills_at_random_moments_lose_nothing(finished_grid):
    command = [sys.executable, "-m", "tests.faults", "--grid", str(finished_grid)]
    drawn = ["--kills", "24", "--snakemake", "2", "--real", "0", "--seed", "20261121"]
    run = subprocess.run([*command, *drawn], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    _, *kinds = run.stdout.splitlines()
    assert len(kinds) == 9, run.stdout
    assert all(kind.endswith("  nothing") for kind in kinds), run.stdout
