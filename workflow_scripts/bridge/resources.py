"""Build the Snakemake resources of a rule's jobs, with GPUs in the form that the cluster requires."""

import re
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from typing import Any

from workflow_scripts.bridge.job_list import record_job
from workflow_scripts.bridge.snakemake_contract import get_default_resource
from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.cluster import Cluster
from workflow_scripts.settings.error_messages import format_value


def build_resources(
    rule: str, estimate: Callable[..., Any], cluster: Cluster, gpu_request: str | None
) -> dict[str, Any]:
    """Return the resources of a rule as functions of a job's wildcards and the attempt.

    `estimate` maps the wildcards, by name, to a JobEstimate of planning.estimates. Without `gpu_request` no GPU is
    requested, even if the job needs one.
    """

    @cache
    def estimate_once(*wildcards):
        return estimate(**dict(wildcards))

    def estimate_job(wildcards):
        return estimate_once(*wildcards.items())

    def get_mem_mb(wildcards, attempt):
        return estimate_job(wildcards).get_memory_limit_mb(attempt, cluster)

    def get_runtime(wildcards, attempt, threads):
        job = estimate_job(wildcards)
        minutes = job.get_time_limit_minutes(attempt, cluster)
        limits = {"minutes": minutes, "max_mem_mb": job.get_memory_limit_mb(attempt, cluster)}
        record_job(rule, wildcards, {"threads": threads, **limits, **asdict(job)})
        return minutes

    def get_gpus(wildcards):
        return estimate_job(wildcards).gpus

    limits = {"mem_mb": get_mem_mb, "runtime": get_runtime}
    if gpu_request is None:
        return limits
    option, _, kind = gpu_request.partition(":")
    if option == "gres":
        name = f"gpu:{kind}" if kind else "gpu"
        return limits | {"gres": lambda wildcards: f"{name}:{get_gpus(wildcards)}"}
    # --gpus counts GPUs of the whole job, which Slurm may spread over several nodes; gres counts them per node.
    gpus = {"gpu": get_gpus, "nodes": 1}
    return limits | gpus | ({"gpu_model": kind} if kind else {})


def read_gpu_request(workflow) -> str:
    """Read how to request GPUs, the profile's default resource `gpu_request`; without it, gpus."""
    written = get_default_resource(workflow, "gpu_request")
    gpu_option = "gpus" if written is None else str(written).strip("'\"")
    if not re.fullmatch(r"(gpus|gres)(:.+)?", gpu_option):
        raise UserError(
            f"The default resource gpu_request is {format_value(gpu_option)}; expected gpus, gres, or one of them"
            " with the cluster's name of a GPU, such as gres:a100."
        )
    return gpu_option
