"""Test that resource requests that Slurm would refuse are reported before submission."""

import pytest

from tests.slurm.grid import read_output, start_on_slurm
from tests.workflow.grid import copy_hub

pytestmark = pytest.mark.slurm


def test_refused_partition_is_named(cluster, finished_grid, tmp_path):
    folder = copy_hub(finished_grid, tmp_path / "slurm")
    before = cluster.list_jobs("all")
    for partition, words in {"batch": "Slurm takes all", "nosuch": "Slurm refuses"}.items():
        options = ["--default-resources", f"slurm_partition={partition}", "gpu_request=gpus"]
        run = start_on_slurm(cluster, folder, *options, targets=["check_cluster"])
        assert run.wait(timeout=300) == (partition == "nosuch"), read_output(folder)
        assert words in read_output(folder)
    assert cluster.list_jobs("all") == before
