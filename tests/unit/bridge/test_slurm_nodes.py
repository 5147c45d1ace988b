"""A job that its node failed is submitted again with that node excluded, where another one would hold it."""

import errno
from pathlib import Path
from types import SimpleNamespace

import pytest

from workflow_scripts.bridge import slurm_nodes
from workflow_scripts.bridge.journal import in_journal
from workflow_scripts.bridge.slurm_offer import JobRequest

LOG = "logs/a.log"
NODES = "gpu1|8|64000|gpu:a100:2(S:0-1)\ngpu2|8|64000|gpu:a100:2\nsmall|2|4000|(null)\n"
DEAD = RuntimeError("No CUDA GPUs are available")


class Resources(SimpleNamespace):
    def get(self, name, default=None):
        return vars(self).get(name, default)


@pytest.fixture
def submitted(tmp_path, monkeypatch):
    """Submit the job again, and give what sbatch is told besides."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CHORUS_JOB", raising=False)
    monkeypatch.setenv("CHORUS_MAIN_PROCESS", "login:7")
    found = []
    executor = SimpleNamespace(
        run_job=lambda job: found.append(job.resources.get("slurm_extra")), _failed_nodes={"lost"}
    )
    asked = JobRequest("main", cpus=8, mem_mb=32_000, minutes=10, gpus=1)
    monkeypatch.setattr(slurm_nodes, "request_of", lambda workflow, job: asked)
    monkeypatch.setattr(slurm_nodes, "said_by", lambda command: NODES)
    slurm_nodes.try_again_elsewhere(SimpleNamespace(scheduler=SimpleNamespace(_executor=executor)))

    def submit():
        job = SimpleNamespace(
            log=[LOG],
            rule=SimpleNamespace(name="one"),
            is_group=lambda: False,
            resources=Resources(slurm_extra="--signal=TERM@180"),
        )
        executor.run_job(job)
        return found.pop()

    return submit


def fail(node: str, error: Exception, monkeypatch) -> None:
    monkeypatch.setenv("SLURMD_NODENAME", node)
    with pytest.raises(type(error)), in_journal("one", Path(LOG)):
        raise error


def test_the_node_that_failed_it_is_left_out_and_what_the_profile_says_stays(
    submitted, monkeypatch
):
    assert submitted() == "--signal=TERM@180"
    fail("gpu1", DEAD, monkeypatch)
    assert submitted() == "--signal=TERM@180 --exclude=gpu1,lost"


@pytest.mark.parametrize(
    "error", [ValueError("a defect"), MemoryError(), OSError(errno.ENOSPC, "full")], ids=str
)
def test_what_another_node_would_do_no_better_leaves_it_in(submitted, monkeypatch, error):
    fail("gpu1", error, monkeypatch)
    assert submitted() == "--signal=TERM@180"


def test_the_last_node_that_holds_the_job_is_not_left_out(submitted, monkeypatch):
    fail("gpu1", DEAD, monkeypatch)
    fail("gpu2", DEAD, monkeypatch)
    assert submitted() == "--signal=TERM@180"


def test_an_earlier_runs_faults_may_have_been_mended(submitted, monkeypatch):
    """Told by the run and not by the time: clocks of nodes differ."""
    fail("gpu1", DEAD, monkeypatch)
    monkeypatch.setenv("CHORUS_MAIN_PROCESS", "login:8")
    assert submitted() == "--signal=TERM@180"
    fail("gpu2", DEAD, monkeypatch)
    assert submitted() == "--signal=TERM@180 --exclude=gpu2,lost"
