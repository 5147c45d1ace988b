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


def resources(
    rule: str, estimate: Callable[..., Any], cluster: Cluster, gpu_request: str | None
) -> dict[str, Any]:
    """Return the resources of a rule as functions of a job's wildcards and the attempt.

    `estimate` maps the wildcards, by name, to a Need of planning.estimates. Without `gpu_request` no GPU is requested,
    even if the job needs one.
    """

    @cache
    def get_need(*wildcards):
        return estimate(**dict(wildcards))

    def need(wildcards):
        return get_need(*wildcards.items())

    def mem_mb(wildcards, attempt):
        return need(wildcards).get_memory_limit_mb(attempt, cluster)

    def runtime(wildcards, attempt, threads):
        job = need(wildcards)
        minutes = job.get_time_limit_minutes(attempt, cluster)
        limits = {"minutes": minutes, "max_mem_mb": job.get_memory_limit_mb(attempt, cluster)}
        record_job(rule, wildcards, {"threads": threads, **limits, **asdict(job)})
        return minutes

    limits = {"mem_mb": mem_mb, "runtime": runtime}
    if gpu_request is None:
        return limits
    option, _, kind = gpu_request.partition(":")
    if option == "gres":
        name = f"gpu:{kind}" if kind else "gpu"
        return limits | {"gres": lambda wildcards: f"{name}:{need(wildcards).gpus}"}
    # --gpus counts GPUs of the whole job, which Slurm may spread over several nodes; gres counts them per node.
    gpus = {"gpu": lambda wildcards: need(wildcards).gpus, "nodes": 1}
    return limits | gpus | ({"gpu_model": kind} if kind else {})


def gpu_request(workflow) -> str:
    """Return `gpu_request` of the profile's default resources: how to request GPUs; the default is gpus."""
    written = get_default_resource(workflow, "gpu_request")
    gpu_option = "gpus" if written is None else str(written).strip("'\"")
    if not re.fullmatch(r"(gpus|gres)(:.+)?", gpu_option):
        raise UserError(
            f"The default resource gpu_request is {format_value(gpu_option)}; expected gpus, gres, or one of them"
            " with the cluster's name of a GPU, such as gres:a100."
        )
    return gpu_option
