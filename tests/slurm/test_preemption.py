"""A training that is preempted and then reaches its time limit, on a real Slurm: its bytes are those of a quiet one."""

import os
import signal
from contextlib import suppress

import pytest

from tests.faults.misfortunes import STEP_SAVED, STEP_TRAINED, Misfortunes
from tests.results import results_of
from tests.slurm.grid import said, start_on_slurm
from tests.waiting import wait_until
from tests.workflow.grid import folder_with_hub

pytestmark = pytest.mark.slurm

# A job waits for its turn, starts Snakemake twice and imports torch before it does any work.
_PATIENCE = 300.0
_TRAINED = "train_before_test/miniature--Pythia-0.1M/"


def test_it_resumes_each_time_where_it_stopped(cluster, finished_grid, tmp_path):
    folder = folder_with_hub(finished_grid, tmp_path / "slurm")
    misfortunes = Misfortunes(folder / "faults")
    for name in ("preempted", "too long"):
        misfortunes.plan(name, STEP_SAVED, within=_TRAINED, time=2)
    run = start_on_slurm(cluster, folder, **misfortunes.environment)

    def wait_for(name: str) -> str:
        return misfortunes.reached(name, _PATIENCE, lambda: run.poll() is not None)[1]

    def ask_to_leave() -> bool:
        return "SIGTERM: will save" in misfortunes.log("train_before_test", _TRAINED)

    try:
        job = wait_for("preempted")
        node = cluster.facts(job)["NodeList"]
        urgent = ["--partition=urgent", f"--nodelist={node}", "--mem=100", "--output=/dev/null"]
        cluster.ask("sbatch", *urgent, "--wrap", "sleep 5")
        wait_until(lambda: cluster.facts(job)["Restarts"] != "0", "Slurm starts it again")
        job = wait_for("too long")
        cluster.ask("scontrol", "update", f"JobId={job}", "TimeLimit=1")
        wait_until(ask_to_leave, "it is told to leave")
        misfortunes.let_go("too long")
        assert run.wait(timeout=_PATIENCE) == 0, said(folder)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
    assert results_of(folder) == results_of(finished_grid)
    # It was interrupted twice, both times just after a save.
    assert max(misfortunes.computed(STEP_TRAINED).values()) == 1
