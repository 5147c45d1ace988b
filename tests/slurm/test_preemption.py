"""Test training that is preempted and then reaches its time limit, on a real Slurm: the results do not change."""

import os
import signal
from contextlib import suppress

import pytest

from tests.faults.fault_injection import PATIENCE, STEP_SAVED, STEP_TRAINED, Faults
from tests.results import read_results
from tests.slurm.grid import read_output, start_on_slurm
from tests.waiting import wait_until
from tests.workflow.grid import copy_hub

pytestmark = pytest.mark.slurm

_TRAINED = "train_before_test/miniature--Pythia-0.1M/"


def test_preempted_training_resumes(cluster, finished_grid, tmp_path):
    folder = copy_hub(finished_grid, tmp_path / "slurm")
    faults = Faults(folder / "faults")
    for name in ("preempted", "too long"):
        faults.plan(name, STEP_SAVED, within=_TRAINED, time=2, action="wait")
    run = start_on_slurm(cluster, folder, **faults.environment)

    def has_been_signalled() -> bool:
        logs = (folder / "logs").glob("train_before_test/miniature--Pythia-0.1M/*.log")
        return any("SIGTERM: will save" in path.read_text() for path in logs)

    try:
        job = faults.wait_for("preempted", run)
        node = cluster.read_facts(job)["NodeList"]
        urgent = ["--partition=urgent", f"--nodelist={node}", "--mem=100", "--output=/dev/null"]
        cluster.run("sbatch", *urgent, "--wrap", "sleep 5")
        wait_until(lambda: cluster.read_facts(job)["Restarts"] != "0", "Slurm starts it again")
        job = faults.wait_for("too long", run)
        cluster.run("scontrol", "update", f"JobId={job}", "TimeLimit=1")
        wait_until(has_been_signalled, "it is told to leave")
        faults.resume("too long")
        assert run.wait(timeout=PATIENCE) == 0, read_output(folder)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
    assert read_results(folder) == read_results(finished_grid)
    # Each step was trained once: both interruptions came right after a save.
    assert max(faults.count(STEP_TRAINED).values()) == 1
