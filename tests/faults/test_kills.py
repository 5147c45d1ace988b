"""A sample of what `make test-faults` does at length."""

import subprocess
import sys

import pytest

from tests.workflow.snakemake import ROOT

pytestmark = [pytest.mark.workflow, pytest.mark.slow]


def test_kills_at_random_moments_lose_nothing(finished_grid):
    command = [sys.executable, "-m", "tests.faults", "--grid", str(finished_grid)]
    drawn = ["--kills", "4", "--seed", "20261121"]
    run = subprocess.run([*command, *drawn], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.startswith("4 kills in "), run.stdout
