"""Requests that Slurm would refuse, told before anything is submitted."""

import pytest

from tests.slurm.grid import read_output, start_on_slurm
from tests.workflow.grid import folder_with_hub

pytestmark = pytest.mark.slurm


def test_what_slurm_refuses_is_named_and_nothing_is_submitted(cluster, finished_grid, tmp_path):
    folder = folder_with_hub(finished_grid, tmp_path / "slurm")
    before = cluster.jobs("all")
    answers = {}
    for partition in ("batch", "nosuch"):
        defaults = [f"slurm_partition={partition}", "gpu_request=gpus"]
        asked = ["--default-resources", *defaults]
        run = start_on_slurm(cluster, folder, *asked, targets=["check_cluster"])
        run.wait(timeout=300)
        answers[partition] = (run.returncode, read_output(folder))
    assert cluster.jobs("all") == before
    code, text = answers["batch"]
    assert code == 0 and "Slurm takes all" in text, text
    code, text = answers["nosuch"]
    assert code == 1 and "Slurm refuses" in text and "invalid partition" in text.lower(), text
    assert "logs/check_cluster.log" in text
    # Of the log alone: Snakemake's logger may read a relative path after the run has left its folder.
    assert "Traceback" not in (folder / "logs/check_cluster.log").read_text()
