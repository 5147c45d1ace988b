"""Build the Snakemake resources of a rule's jobs, with GPUs in the form that the cluster requires."""

import re
from collections.abc import Callable
from typing import Any

from workflow_scripts.bridge.job_list import record_job
from workflow_scripts.bridge.snakemake_contract import get_default_resource
from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.cluster import Cluster
from workflow_scripts.settings.error_messages import shown

# Maps a job's wildcards to a Need of workflow_scripts.planning.estimates.
NeedOf = Callable[[Any], Any]


def resources(rule: str, need: NeedOf, cluster: Cluster, gpu_request: str | None) -> dict[str, Any]:
    """Return the resources of a rule as functions of a job's wildcards and the attempt.

    Without `gpu_request` no GPU is requested, even if the job needs one.
    """

    def mem_mb(wildcards, attempt):
        return need(wildcards).get_memory_limit_mb(attempt, cluster)

    def runtime(wildcards, attempt, threads):
        record_job(rule, wildcards, threads, need(wildcards))
        return need(wildcards).get_time_limit_minutes(attempt, cluster)

    gpus = _request_gpus(need, gpu_request) if gpu_request else {}
    return {"mem_mb": mem_mb, "runtime": runtime, **gpus}


def gpu_request(workflow) -> str:
    """Return `gpu_request` of the profile's default resources: how to request GPUs; the default is gpus."""
    written = get_default_resource(workflow, "gpu_request")
    gpu_option = "gpus" if written is None else str(written).strip("'\"")
    if not re.fullmatch(r"(gpus|gres)(:.+)?", gpu_option):
        raise UserError(
            f"The default resource gpu_request is {shown(gpu_option)}; expected gpus, gres, or one of them"
            " with the cluster's name of a GPU, such as gres:a100."
        )
    return gpu_option


def _request_gpus(need: NeedOf, gpu_option: str) -> dict[str, Any]:
    option, _, kind = gpu_option.partition(":")
    if option == "gres":
        name = f"gpu:{kind}" if kind else "gpu"
        return {"gres": lambda wildcards: f"{name}:{need(wildcards).gpus}"}
    # --gpus counts GPUs of the whole job, which Slurm may spread over several nodes; gres counts them per node.
    counted = {"gpu": lambda wildcards: need(wildcards).gpus, "nodes": 1}
    return counted | ({"gpu_model": kind} if kind else {})
