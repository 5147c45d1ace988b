"""What the jobs of a run ask Slurm for, compared with what it has before the first of them is submitted."""

import shlex
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

from workflow_scripts.bridge.gpus import gpus_of
from workflow_scripts.bridge.slurm_offer import (
    SCONTROL,
    SINFO,
    JobRequest,
    Partition,
    misfits,
    offered,
)
from workflow_scripts.bridge.snakemake_settings import list_needed_jobs
from workflow_scripts.bridge.terminal import nothing_said
from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.packs import base_of

CHECK = "check_cluster"
_SECONDS = 60
_PROGRAMS = ("sbatch", SINFO[0], SCONTROL[0])


def missing_programs() -> list[str]:
    """List what a submission needs of Slurm and PATH does not have."""
    return [name for name in _PROGRAMS if shutil.which(name) is None]


def ask_what_is_offered() -> list[Partition]:
    return offered(*(said_by(command) for command in (SINFO, SCONTROL)))


def said_by(command: Sequence[str]) -> str:
    try:
        return subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=_SECONDS
        ).stdout
    except subprocess.SubprocessError as error:
        said = (getattr(error, "stderr", None) or str(error)).strip()
        raise UserError(f"{command[0]} does not answer: {said}") from None


def requests_of(workflow) -> list[tuple[str, JobRequest]]:
    """Of all jobs that are to be submitted: the rule, by which packs of one rule count as one."""
    with nothing_said():  # of each partition that is chosen
        return [
            (base_of(job.rule.name), request_of(workflow, job))
            for job in list_needed_jobs(workflow)
            if not job.is_local
        ]


def request_of(workflow, job) -> JobRequest:
    """As the Slurm plugin would submit it: with the profile's default resources, in the partition it chooses."""
    resources = job.resources
    gpus, kind = gpus_of(resources)
    chosen = shlex.split(workflow.scheduler._executor.get_partition_arg(job))
    return JobRequest(
        partition=chosen[-1] if chosen else None,
        cpus=resources.get("cpus_per_task") or job.threads,
        mem_mb=_known(resources.get("mem_mb")),
        minutes=_known(resources.get("runtime")),
        gpus=gpus,
        gpu_kind=kind,
        account=resources.get("slurm_account"),
    )


def _known(number: Any) -> int:
    """What depends on the size of files that are not there yet is not known before."""
    return number if isinstance(number, int) else 0


def checked(workflow) -> str:
    """What `snakemake check_cluster` says where all is well; a UserError where it is not."""
    if not submits_to_slurm(workflow):
        raise UserError(
            f"`snakemake {CHECK}` compares what jobs ask for with what Slurm has; say which profile"
            f" submits them: snakemake {CHECK} --profile slurm"
        )
    requests = requests_of(workflow)
    if found := misfits(requests, ask_what_is_offered()):
        raise UserError(found)
    if not requests:
        return "There is nothing to submit: all is done, or made where Snakemake runs."
    where = ", ".join(sorted({one.partition or "no partition" for _, one in requests}))
    return f"All {len(requests):,} jobs that are to run fit into this Slurm ({where})."


def submits_to_slurm(workflow) -> bool:
    """Known when the run starts, and not while rules are parsed."""
    return workflow.executor_plugin.name == "slurm"


def guess_no_account(workflow) -> None:
    """Where the profile says slurm-no-account: the plugin has the setting, and guesses all the same."""
    if workflow.executor_settings.no_account:
        workflow.scheduler._executor._fallback_account_arg = ""


def job_of(workflow, number: int) -> Any:
    return next(job for job in workflow.dag.jobs if workflow.dag.jobid(job) == number)
