"""Trainings on a GPU that is pretended: the CPU's losses and weights, and hardly a wait for the GPU."""

import json
import os
import subprocess
import sys

import pytest

from tests.workflow.snakemake import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.compiler]


def trained(precision: str, environment: dict[str, str]) -> dict[str, dict]:
    result = subprocess.run(
        [sys.executable, "-m", "tests.pretended_gpu.training", precision],
        env=os.environ | environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("precision", "packing", "of_losses"),
    [("float32", "stretches", 1e-5), ("bfloat16", "varlen", 0.05)],
)
def test_losses_and_weights_are_those_of_the_cpu(pretended_gpu, precision, packing, of_losses):
    found = trained(precision, pretended_gpu)
    together = found.pop("together")
    assert together["shared"] and together["apart"] < of_losses
    if precision == "float32":
        assert together["weights_apart"] < 1e-5
    assert together["ran"]["packing"] == packing
    for name, one in found.items():
        assert one["apart"] < of_losses, name
        assert one["ran"]["precision"] == precision, name
        if name != "padded":  # transformers looks at each mask of padded rows
            assert one["ran"]["packing"] == packing, name
            assert one["waits_a_step"] < 0.1, name
