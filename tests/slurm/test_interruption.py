"""Ctrl-C on the login node: the jobs in Slurm are cancelled, and the run ends and says so."""

import os
import signal

import pytest

from tests.faults.misfortunes import ITEM_SCORED, Misfortunes
from tests.slurm.grid import said, start_on_slurm
from tests.waiting import wait_until
from tests.workflow.grid import folder_with_hub

pytestmark = pytest.mark.slurm


def test_ctrl_c_cancels_the_jobs_in_slurm_and_leaves_no_lock(cluster, finished_grid, tmp_path):
    folder = folder_with_hub(finished_grid, tmp_path / "slurm")
    misfortunes = Misfortunes(tmp_path / "faults")
    # It would wait there for hours.
    misfortunes.plan("held", ITEM_SCORED, within="direct/miniature--Pythia-0.1M/", time=5)
    run = start_on_slurm(cluster, folder, **misfortunes.environment)
    _, job = misfortunes.reached("held", 300, lambda: run.poll() is not None)
    os.killpg(run.pid, signal.SIGINT)
    assert run.wait(timeout=120) == 1, said(folder)
    assert "Interrupted: the jobs are ended" in said(folder)
    assert "The run was interrupted." in said(folder)
    assert "Traceback" not in said(folder)
    assert not list((folder / ".snakemake").glob("locks/*"))
    wait_until(lambda: job not in cluster.jobs(), "Slurm has ended the job")
    assert cluster.facts(job)["JobState"] in ("CANCELLED", "FAILED")
    own = [one for one in cluster.jobs() if cluster.facts(one)["WorkDir"] == str(folder)]
    assert not own
