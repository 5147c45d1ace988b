"""What the jobs of a run ask Slurm for, compared with what it has before the first of them is submitted."""

import re
import shlex
import subprocess
from collections.abc import Iterable, Sequence
from typing import Any

from workflow_scripts.bridge.slurm_offer import (
    SCONTROL,
    SINFO,
    Asked,
    Partition,
    offered,
    why_it_fits_nowhere,
)
from workflow_scripts.core.errors import UserError

CHECK = "check_cluster"
_PACK = re.compile(r"_\d+$")
_SECONDS = 60


def ask_what_is_offered() -> list[Partition]:
    return offered(*(_said(command) for command in (SINFO, SCONTROL)))


def _said(command: Sequence[str]) -> str:
    try:
        return subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=_SECONDS
        ).stdout
    except FileNotFoundError:
        raise UserError(f"{command[0]} cannot be found here; start on a login node.") from None
    except subprocess.SubprocessError as error:
        said = (getattr(error, "stderr", None) or str(error)).strip()
        raise UserError(f"{command[0]} does not answer: {said}") from None


def asked_of(workflow, job) -> Asked:
    """As the Slurm plugin would submit it: with the profile's default resources, in the partition it chooses."""
    resources = job.resources
    gpus, kind = resources.get("gpu") or 0, resources.get("gpu_model")
    if gres := resources.get("gres"):
        name, *middle, count = str(gres).split(":")
        gpus, kind = (int(count), next(iter(middle), None)) if name == "gpu" else (0, None)
    chosen = shlex.split(workflow.scheduler._executor.get_partition_arg(job))
    return Asked(
        partition=chosen[-1] if chosen else None,
        cpus=resources.get("cpus_per_task") or job.threads,
        mem_mb=resources.get("mem_mb") or 0,
        minutes=resources.get("runtime") or 0,
        gpus=gpus,
        gpu_kind=kind,
        account=resources.get("slurm_account"),
    )


def misfits(workflow, partitions: Sequence[Partition]) -> list[str]:
    """A sentence for each rule, with what its jobs lack."""
    jobs = [job for job in workflow.dag.needrun_jobs() if not job.is_local]
    grouped: dict[tuple[str, tuple[str, ...]], list[Asked]] = {}
    for job in jobs:
        asked = asked_of(workflow, job)
        if reasons := why_it_fits_nowhere(asked, partitions):
            key = _PACK.sub("", job.rule.name), tuple(reasons)
            grouped.setdefault(key, []).append(asked)
    return [_sentence(rule, group, reasons) for (rule, reasons), group in grouped.items()]


def _sentence(rule: str, group: Sequence[Asked], reasons: Iterable[str]) -> str:
    largest = max(group, key=lambda asked: (asked.gpus, asked.mem_mb, asked.minutes, asked.cpus))
    jobs = f"{len(group):,} jobs of {rule} fit" if len(group) > 1 else f"A job of {rule} fits"
    largest_of = "the largest asks" if len(group) > 1 else "it asks"
    return f"{jobs} nowhere in this Slurm; {largest_of} for {largest}: {'; '.join(reasons)}."


def checked(workflow) -> str:
    """What `snakemake check_cluster` says where all is well; a UserError where it is not."""
    if not submits_to_slurm(workflow):
        raise UserError(
            f"`snakemake {CHECK}` compares what jobs ask for with what Slurm has; say which profile"
            f" submits them: snakemake {CHECK} --profile slurm"
        )
    partitions = ask_what_is_offered()
    if found := misfits(workflow, partitions):
        raise UserError(found)
    jobs = [asked_of(workflow, job) for job in workflow.dag.needrun_jobs() if not job.is_local]
    where = ", ".join(sorted({asked.partition or "no partition" for asked in jobs}))
    if not jobs:
        return "There is nothing to submit: all is done, or made where Snakemake runs."
    return f"All {len(jobs):,} jobs that are to run fit into this Slurm ({where})."


def submits_to_slurm(workflow) -> bool:
    """Known when the run starts, and not while rules are parsed."""
    return workflow.executor_plugin.name == "slurm"


def guess_no_account(workflow) -> None:
    """Where the profile says slurm-no-account: the plugin has the setting, and guesses all the same."""
    if workflow.executor_settings.no_account:
        workflow.scheduler._executor._fallback_account_arg = ""


def job_of(workflow, number: int) -> Any:
    return next(job for job in workflow.dag.jobs if workflow.dag.jobid(job) == number)
