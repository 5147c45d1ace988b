"""The options of sbatch for what a job requests."""

import pytest

from workflow_scripts.steps.check_cluster import list_options

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
def test_they_are_those_of_the_executor_plugin(profile, options):
    assert list_options(4, ASKED, profile) == REST + options
