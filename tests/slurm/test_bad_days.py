"""Bad days on a real Slurm, two for each job of one run: its bytes are those of an undisturbed one.

Each job is held at a named moment in the middle of its work, and there the misfortune befalls it; so
nothing depends on how fast this machine is.
"""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from tests.faults.misfortunes import (
    ITEM_SCORED,
    STEP_SAVED,
    STEP_TRAINED,
    Misfortunes,
    is_alive,
)
from tests.results import results_of
from tests.slurm.cluster import CONTROLLER, Cluster
from tests.slurm.grid import said, start_on_slurm
from tests.waiting import wait_until
from tests.workflow.grid import folder_with_hub

pytestmark = pytest.mark.slurm

# A job waits for its turn, starts Snakemake twice and imports torch before it does any work.
_PATIENCE = 300.0
_DIRECT, _TRAINED = "direct/miniature--{}/", "train_before_test/miniature--{}/"
_ONE, _OTHER = "Pythia-0.1M", "Qwen2-0.2M"


class BadDay:
    """What befalls the jobs; each method is the story of one of them, and gives back what Slurm said."""

    def __init__(self, cluster: Cluster, misfortunes: Misfortunes):
        self._cluster, self._misfortunes = cluster, misfortunes
        self.run = None  # the Snakemake that all this befalls

    def hold(self, name: str, moment: str, within: str, time: int = 1, **more) -> None:
        self._misfortunes.plan(name, moment, within=within, time=time, **more)

    def memory_then_scancel(self) -> dict[str, dict[str, str]]:
        within = _DIRECT.format(_ONE)
        hoard = {"deed": "take memory", "bytes": 2_000_000_000}
        self.hold("out of memory", ITEM_SCORED, within, time=5, **hoard)
        self.hold("cancelled", ITEM_SCORED, within, time=6)
        _, first = self._reached("out of memory")
        killed = self._ended(first)
        _, second = self._reached("cancelled")
        self._cluster.ask("scancel", second)
        return {"out of memory": killed, "cancelled": self._ended(second)}

    def kill_then_time_limit(self) -> dict[str, dict[str, str]]:
        """The first while slurmctld is away."""
        within = _DIRECT.format(_OTHER)
        self.hold("killed", ITEM_SCORED, within, time=5)
        self.hold("too long", ITEM_SCORED, within, time=6)
        process, first = self._reached("killed")
        self._cluster.kill(CONTROLLER)
        os.kill(process, signal.SIGKILL)
        time.sleep(5)  # Snakemake asks in vain meanwhile
        self._cluster.start_controller()
        killed = self._ended(first)
        _, second = self._reached("too long")
        self._cluster.ask("scontrol", "update", f"JobId={second}", "TimeLimit=1")
        return {"killed": killed, "too long": self._ended(second)}

    def preemption_then_time_limit(self) -> dict[str, dict[str, str]]:
        within = _TRAINED.format(_ONE)
        self.hold("preempted", STEP_SAVED, within, time=2)
        self.hold("trained too long", STEP_SAVED, within, time=2)
        _, job = self._reached("preempted")
        node = self._cluster.facts(job)["NodeList"]
        urgent = ["--partition=urgent", f"--nodelist={node}", "--mem=100", "--output=/dev/null"]
        self._cluster.ask("sbatch", *urgent, "--wrap", "sleep 5")
        requeued = self._started_anew(job)
        _, job = self._reached("trained too long")
        self._cluster.ask("scontrol", "update", f"JobId={job}", "TimeLimit=1")
        wait_until(lambda: "SIGTERM: will save" in self._log(within), "it is told to leave", 120)
        self._misfortunes.let_go("trained too long")
        return {"preempted": requeued, "trained too long": self._ended(job)}

    def node_lost_then_node_silent(self) -> dict[str, dict[str, str]]:
        """A lost node has taken its job along. Of a silent one the job lives on, beside its successor."""
        within = _TRAINED.format(_OTHER)
        self.hold("node lost", STEP_SAVED, within, time=2)
        self.hold("node silent", STEP_SAVED, within, time=2)
        _, job = self._reached("node lost")
        lost = self._cluster.facts(job)["NodeList"]
        self._cluster.lose_node(lost)
        requeued = self._started_anew(job)
        self._cluster.start_node(lost)
        process, job = self._reached("node silent")
        facts = self._cluster.facts(job)
        silent = facts["NodeList"]
        self._cluster.kill(silent)
        self._ended(job, "COMPLETED")
        # Now that its successor has written everything, the old one wakes up, and would like to write.
        # It may have been ended meanwhile, by its own srun, which hears of the node's failure.
        if is_alive(process):
            self._misfortunes.let_go("node silent")
            time.sleep(3)
        # Slurm ends it when it finds it there, some minutes after the node is back; this is quicker.
        self._cluster.lose_node(silent)
        self._cluster.start_node(silent)
        return {"node lost": requeued, "node silent": facts}

    def _reached(self, name: str) -> tuple[int, str]:
        return self._misfortunes.reached(
            name, _PATIENCE, lambda: self.run and self.run.poll() is not None
        )

    def _ended(self, job: str, *states: str) -> dict[str, str]:
        over = states or ("FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL")
        wait_until(lambda: self._cluster.facts(job)["JobState"] in over, f"job {job} ends", 150)
        return self._cluster.facts(job)

    def _started_anew(self, job: str) -> dict[str, str]:
        wait_until(
            lambda: (
                self._cluster.facts(job)["Restarts"] != "0"
                or self._cluster.facts(job)["JobState"] == "FAILED"
            ),
            f"job {job} waits again",
        )
        return self._cluster.facts(job)

    def _log(self, within: str) -> str:
        return self._misfortunes.log("train_before_test", within)


@pytest.fixture(scope="module")
def disturbed(cluster, finished_grid, tmp_path_factory):
    """The folder of a run that had a bad day, its misfortunes, and what Slurm said of each job."""
    folder = folder_with_hub(finished_grid, tmp_path_factory.mktemp("disturbed"))
    misfortunes = Misfortunes(folder / "faults")
    bad = BadDay(cluster, misfortunes)
    stories = [
        bad.memory_then_scancel,
        bad.kill_then_time_limit,
        bad.preemption_then_time_limit,
        bad.node_lost_then_node_silent,
    ]
    # What a small model takes fits into the first attempt; what the misfortune takes besides does not.
    memory = ["--set-resources", "evaluate_direct:mem_mb=attempt*1500"]
    with ThreadPoolExecutor(len(stories)) as pool:
        told = [pool.submit(story) for story in stories]
        bad.run = run = start_on_slurm(cluster, folder, *memory, **misfortunes.environment)
        try:
            facts = [one.result() for one in told]
            assert run.wait(timeout=_PATIENCE) == 0, said(folder)
        except BaseException:
            print(said(folder))
            raise
        finally:
            with suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
    return folder, misfortunes, {name: fact for one in facts for name, fact in one.items()}


def test_after_all_that_its_bytes_are_those_of_a_quiet_run(finished_grid, disturbed):
    folder, _, _ = disturbed
    assert results_of(folder) == results_of(finished_grid)


def test_no_item_is_scored_twice_and_no_step_trained_twice_but_what_was_not_saved(disturbed):
    _, misfortunes, _ = disturbed
    assert set(misfortunes.computed(ITEM_SCORED).values()) == {1}
    # Each training was interrupted twice, both times just after a save.
    assert max(misfortunes.computed(STEP_TRAINED).values()) == 1


def test_slurm_saw_it_so_and_was_asked_for_more_memory_the_next_time(disturbed):
    _, _, seen = disturbed
    assert seen["cancelled"]["JobState"] == "CANCELLED"
    assert seen["too long"]["JobState"] in ("TIMEOUT", "FAILED")  # on the signal ahead it may leave
    assert seen["out of memory"]["JobState"] in ("OUT_OF_MEMORY", "FAILED")
    first, second = (seen[name]["MinMemoryNode"] for name in ("out of memory", "cancelled"))
    assert (first, second) == ("1500M", "3000M")
