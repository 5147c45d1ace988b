"""What a rule's jobs ask of a cluster, and how GPUs are spelled there."""

from types import SimpleNamespace

import pytest
from snakemake.resources import Resources

from workflow_scripts.bridge.resources import gpu_request, list_sbatch_options, resources
from workflow_scripts.core.errors import UserError
from workflow_scripts.planning.estimates import Need
from workflow_scripts.settings.cluster import Cluster


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("gpus", {"gpu": 2, "nodes": 1}),
        ("gpus:a100", {"gpu": 2, "nodes": 1, "gpu_model": "a100"}),
        ("gres:a100", {"gres": "gpu:a100:2"}),
        (None, {}),
    ],
)
def test_gpus_are_asked_for_as_the_cluster_spells_it(spelling, expected):
    made = resources("rule", lambda wildcards: Need(60, 1_000, gpus=2), Cluster(), spelling)
    gpus = {name: value for name, value in made.items() if name not in ("mem_mb", "runtime")}
    assert {n: v({}) if callable(v) else v for n, v in gpus.items()} == expected
    assert made["mem_mb"]({}, attempt=1) == 1_000
    assert made["runtime"]({}, attempt=1, threads=1) == 12


def profile(*lines):
    """A workflow with the default resources of a profile, as Snakemake reads them."""
    defaults = Resources.parse(list(lines), allow_expressions=True, defaults="full")
    return SimpleNamespace(resource_settings=SimpleNamespace(default_resources=defaults))


def test_a_profile_says_how_gpus_are_asked_for():
    for spelling in ("gpus:a100", "gres", "'gres:a100'"):
        assert gpu_request(profile(f"gpu_request={spelling}")) == spelling.strip("'")
    assert gpu_request(profile()) == "gpus"
    for spelling in ("gpu", "gres:"):
        with pytest.raises(UserError, match=r"gpu_request is .*; expected gpus, gres"):
            gpu_request(profile(f"gpu_request={spelling}"))


ASKED = {"mem_mb": 2_000, "runtime": 30, "gpus": 2}
REST = ["--mem=2000", "--time=30", "--cpus-per-task=4"]


@pytest.mark.parametrize(
    ("profile", "options"),
    [
        ({"gpu_request": "gpus"}, ["--gpus=2"]),
        ({"gpu_request": "gpus:a100"}, ["--gpus=a100:2"]),
        ({"gpu_request": "gres"}, ["--gres=gpu:2"]),
        ({"gpu_request": "gres:a100"}, ["--gres=gpu:a100:2"]),
        (
            {
                "gpu_request": "gpus",
                "slurm_partition": "main",
                "slurm_account": "me",
                "slurm_extra": "--signal=TERM@180 --nice",
            },
            ["--gpus=2", "--partition=main", "--account=me", "--signal=TERM@180", "--nice"],
        ),
    ],
)
def test_the_options_of_sbatch_are_those_of_the_executor_plugin(profile, options):
    assert list_sbatch_options(4, ASKED, profile) == REST + options
