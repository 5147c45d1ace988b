"""Test that the grid on a real Slurm gives the same bytes as a local run."""

import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.results import read_results
from tests.slurm.grid import read_output, start_on_slurm
from tests.workflow.grid import TOKENS, copy_hub, list_token_files

pytestmark = pytest.mark.slurm


@contextmanager
def _mount_read_only(hub: Path):
    """Mount the hub folder read-only, like a shared one; permissions would not stop root."""
    subprocess.run(["mount", "--bind", hub, hub], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", hub], check=True)
        yield
    finally:
        subprocess.run(["umount", hub], check=True)


def test_slurm_grid_equals_local_run(cluster, finished_grid, tmp_path):
    folder = copy_hub(finished_grid, tmp_path / "slurm")
    # No job of these models needs a GPU; two jobs still request one, and Slurm assigns it.
    gpus = ["--set-resources", "train_before_test:gpu=1"]
    with _mount_read_only(folder / "resources/hub"):
        run = start_on_slurm(cluster, folder, *gpus, **TOKENS)
        assert run.wait() == 0, read_output(folder)
    assert read_results(folder) == read_results(finished_grid)
    facts = [cluster.read_facts(job) for job in cluster.list_jobs("COMPLETED")]
    own_facts = [fact for fact in facts if fact["WorkDir"] == str(folder)]
    assert len(own_facts) == 4, "each cell is a job; tables are made where Snakemake runs"
    assert sum("gres:gpu:1" in fact.get("TresPerJob", "") for fact in own_facts) == 2
    assert not list_token_files(folder), (
        "jobs have the tokens from the environment, and nowhere else"
    )
