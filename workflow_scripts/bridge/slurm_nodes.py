"""A job that failed by the fault of its node is tried again on another: a dead GPU kills whatever comes near."""

from contextlib import suppress
from pathlib import Path

from workflow_scripts.bridge.journal import nodes_at_fault
from workflow_scripts.bridge.slurm_offer import JobRequest, names_of_fitting
from workflow_scripts.bridge.slurm_requests import request_of, said_by
from workflow_scripts.bridge.terminal import say

_NODES = ("sinfo", "--noheader", "--exact", "--Node", "--format=%N|%c|%m|%G")


def try_again_elsewhere(workflow) -> None:
    """From now on, where Slurm has another node that holds the job."""
    executor = workflow.scheduler._executor
    submit = executor.run_job

    def run_job(job) -> None:
        with suppress(Exception):  # which the plugin will meet too, and tells of
            faulty = set(nodes_at_fault(Path(job.log[0])))
            if faulty and _fits_beside(faulty, request_of(workflow, job)):
                # Of two such options sbatch takes the last: the plugin's own has the nodes that Slurm lost.
                excluded = ",".join(sorted(faulty | executor._failed_nodes))
                extra = job.resources.get("slurm_extra") or ""
                job.resources.slurm_extra = f"{extra} --exclude={excluded}".strip()
                names = ",".join(sorted(faulty))
                say(f"{job.rule.name} is tried again on another node than {names}, which failed.")
        submit(job)

    executor.run_job = run_job


def _fits_beside(faulty: set[str], request: JobRequest) -> bool:
    partition = [f"--partition={request.partition}"] if request.partition else []
    return bool(names_of_fitting(said_by([*_NODES, *partition]), request) - faulty)
