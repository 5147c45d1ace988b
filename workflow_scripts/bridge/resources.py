"""How a cluster wants GPUs to be asked for, and what a rule's jobs ask for."""

import inspect
from collections.abc import Callable
from typing import Any, Protocol

from workflow_scripts.bridge.snakemake_settings import default_resource
from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.cluster import Cluster
from workflow_scripts.settings.sentences import shown


class Needed(Protocol):
    """What a job needs, as far as a cluster is told."""

    gpus: int
    nodes: int

    def asked_minutes(self, attempt: int, cluster: Cluster) -> int: ...

    def asked_mem_mb(self, attempt: int, cluster: Cluster) -> int: ...


NeedOf = Callable[[Any], Needed]


def resources(
    need: NeedOf, cluster: Cluster, gpu_request: str | None, *, over_nodes: bool = False
) -> dict[str, Any]:
    """The resources of a rule as Snakemake takes them: functions of a job's wildcards and of the attempt.

    Without `gpu_request` no GPU is asked for, whatever the need says. `over_nodes` says whether some of the
    rule's jobs may need several nodes.
    """

    def mem_mb(wildcards, attempt):
        return need(wildcards).asked_mem_mb(attempt, cluster)

    def runtime(wildcards, attempt):
        return need(wildcards).asked_minutes(attempt, cluster)

    given = {"mem_mb": mem_mb, "runtime": runtime}
    given |= _gpus(need, gpu_request) if gpu_request else {}
    given |= _over_nodes(need, given, gpu_request) if over_nodes else {}
    return {name: signed(value) if callable(value) else value for name, value in given.items()}


def signed(function: Callable) -> Callable:
    """Keep the function's signature at hand: Snakemake asks for it again for every job, thousands of times."""
    vars(function)["__signature__"] = inspect.signature(function)
    return function


def gpu_request(workflow) -> str:
    """How the profile's default resources say that GPUs are asked for; gpus where they do not."""
    written = default_resource(workflow, "gpu_request")
    spelling = "gpus" if written is None else str(written).strip("'\"")
    option, colon, kind = spelling.partition(":")
    if option not in ("gpus", "gres") or bool(colon) != bool(kind):
        raise UserError(
            f"The default resource gpu_request is {shown(spelling)}; expected gpus, gres, or one of them"
            " with the cluster's name of a GPU, such as gres:a100."
        )
    return spelling


def _gpus(need: NeedOf, spelling: str) -> dict[str, Any]:
    option, _, kind = spelling.partition(":")
    if option == "gres":
        return {"gres": lambda wildcards: _gres(need(wildcards), kind)}
    # Slurm may put GPUs of one job on several nodes, where they are not asked for by node as gres are.
    counted = {"gpu": lambda wildcards: need(wildcards).gpus, "nodes": 1}
    return counted | ({"gpu_model": kind} if kind else {})


def _gres(need: Needed, kind: str) -> str:
    """GPUs of a node."""
    return f"gpu:{kind}:{need.gpus // need.nodes}" if kind else f"gpu:{need.gpus // need.nodes}"


def _over_nodes(need: NeedOf, given: dict[str, Any], spelling: str | None) -> dict[str, Any]:
    """A job of several nodes itself starts what runs on each, as MPI jobs do, and has as many GPUs on each."""

    def for_some(several: bool, value: Any) -> Callable:
        def resource(wildcards):
            needed = need(wildcards)
            if several != (needed.nodes > 1):
                return None
            return value(needed) if callable(value) else value

        return resource

    found = {
        "nodes": lambda wildcards: need(wildcards).nodes,
        "mpi": for_some(True, "srun"),
        "tasks": for_some(True, lambda needed: needed.nodes),
        "tasks_per_gpu": for_some(True, 0),  # or it would be `tasks`
    }
    if "gpu" in given and spelling:  # which may lie on the nodes in other numbers
        kind = spelling.partition(":")[2]
        found["gpu"] = for_some(False, lambda needed: needed.gpus)
        found["gres"] = for_some(True, lambda needed: _gres(needed, kind))
        found |= {"gpu_model": for_some(False, kind)} if kind else {}
    return found
