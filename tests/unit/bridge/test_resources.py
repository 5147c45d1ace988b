"""Test the cluster resources of a rule's jobs, and the syntax of GPU requests."""

from types import SimpleNamespace

import pytest
from snakemake.resources import Resources

from workflow_scripts.bridge.resources import build_resources, read_gpu_request
from workflow_scripts.core.errors import UserError
from workflow_scripts.planning.estimates import JobEstimate
from workflow_scripts.settings.cluster import Cluster
from workflow_scripts.steps.check_cluster import list_sbatch_options

REST = ["--mem=1000", "--time=12", "--cpus-per-task=4"]


@pytest.mark.parametrize(
    ("spelling", "expected", "options"),
    [
        ("gpus", {"gpu": 2, "nodes": 1}, ["--gpus=2"]),
        ("gpus:a100", {"gpu": 2, "nodes": 1, "gpu_model": "a100"}, ["--gpus=a100:2"]),
        ("gres", {"gres": "gpu:2"}, ["--gres=gpu:2"]),
        ("gres:a100", {"gres": "gpu:a100:2"}, ["--gres=gpu:a100:2"]),
        (None, {}, []),
    ],
)
def test_resources(spelling, expected, options):
    values = build_resources(
        "rule", lambda **wildcards: JobEstimate(60, 1_000, gpus=2), Cluster(), spelling
    )
    assert values.pop("mem_mb")({}, attempt=1) == 1_000
    assert values.pop("runtime")({}, attempt=1, threads=1) == 12
    assert {n: v({}) if callable(v) else v for n, v in values.items()} == expected
    job = {"max_mem_mb": 1_000, "minutes": 12, "gpus": 2 if spelling else 0, "threads": 4}
    profile = {"gpu_request": spelling, "slurm_account": "me", "slurm_extra": "--nice"}
    assert list_sbatch_options(job, profile) == [*REST, *options, "--account=me", "--nice"]


def test_wrong_gpu_request():
    """The syntax is a default resource of the profile, which Snakemake parses."""
    parsed = Resources.parse(["gpu_request=gpu"], allow_expressions=True, defaults="full")
    workflow = SimpleNamespace(resource_settings=SimpleNamespace(default_resources=parsed))
    with pytest.raises(UserError, match=r"gpu_request is .*; expected gpus, gres"):
        read_gpu_request(workflow)
