"""What a Slurm cluster offers, and why a job fits nowhere in it; pure functions of what sinfo and scontrol say."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from workflow_scripts.core.words import many

# A row for each kind of node in each partition.
SINFO = ("sinfo", "--noheader", "--exact", "--format=%R|%c|%m|%G")
SCONTROL = ("scontrol", "show", "partition", "--oneliner")
_GPUS = re.compile(r"\bgpu(?::([^:,()]+))?:(\d+)")  # gpu:4, gpu:a100:4(S:0-1)
_DAYS = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)")  # 2-00:00:00, 30:00
_UNLIMITED = ("UNLIMITED", "INFINITE", "NONE", "N/A")
_IN_PROFILE = "in default-resources of the profile"


@dataclass(frozen=True)
class JobRequest:
    """What one job asks for; `gpu_kind` is the cluster's name of a GPU, where the profile gives one."""

    partition: str | None
    cpus: int
    mem_mb: int
    minutes: int
    gpus: int = 0
    gpu_kind: str | None = None
    account: str | None = None

    def __str__(self) -> str:
        kind = f" {self.gpu_kind}" if self.gpu_kind else ""
        return ", ".join(
            [
                f"partition {self.partition}" if self.partition else "no partition",
                *([f"account {self.account}"] if self.account else []),
                many(self.cpus, "CPU"),
                f"{self.mem_mb:,} MB",
                many(self.minutes, "minute"),
                f"{many(self.gpus, 'GPU')}{kind}" if self.gpus else "no GPU",
            ]
        )


@dataclass(frozen=True)
class Node:
    cpus: int
    mem_mb: int
    gpus: Mapping[str | None, int]

    def gpus_of(self, kind: str | None) -> int:
        return sum(self.gpus.values()) if kind is None else self.gpus.get(kind, 0)


@dataclass(frozen=True)
class Partition:
    """A limit that is None is none."""

    name: str
    is_default: bool
    minutes: int | None
    accounts: tuple[str, ...] | None
    nodes: tuple[Node, ...]


def offered(sinfo: str, scontrol: str) -> list[Partition]:
    rows = [line.split("|") for line in sinfo.splitlines() if line.count("|") == 3]
    partitions = []
    for line in scontrol.splitlines():
        facts = dict(word.split("=", 1) for word in line.split() if "=" in word)
        if name := facts.get("PartitionName"):
            nodes = tuple(_node(row[1:], facts) for row in rows if row[0].strip() == name)
            partitions.append(_partition(name, facts, nodes))
    return partitions


def why_it_fits_nowhere(request: JobRequest, partitions: Sequence[Partition]) -> list[str]:
    """A reason each, with what to mend; none where it fits, or nobody knows which partition takes it."""
    names = ", ".join(partition.name for partition in partitions)
    if request.partition is None:
        partition = next((one for one in partitions if one.is_default), None)
    else:
        partition = next((one for one in partitions if one.name == request.partition), None)
        if partition is None:
            mend = f"slurm_partition {_IN_PROFILE}, or slurm-partition-config"
            return [f"there is no partition {request.partition}, but {names} (see {mend})"]
    if partition is None or not partition.nodes:
        return []
    return _lacking(request, partition)


def misfits(
    requests: Iterable[tuple[str, JobRequest]], partitions: Sequence[Partition]
) -> list[str]:
    """A sentence for each rule and what its jobs lack."""
    grouped: dict[tuple[str, tuple[str, ...]], list[JobRequest]] = {}
    for rule, request in requests:
        if reasons := why_it_fits_nowhere(request, partitions):
            grouped.setdefault((rule, tuple(reasons)), []).append(request)
    return [_sentence(rule, group, reasons) for (rule, reasons), group in grouped.items()]


def _sentence(rule: str, group: Sequence[JobRequest], reasons: Iterable[str]) -> str:
    largest = max(
        group, key=lambda request: (request.gpus, request.mem_mb, request.minutes, request.cpus)
    )
    many = len(group) > 1
    jobs = f"{len(group):,} jobs of {rule} fit" if many else f"A job of {rule} fits"
    asks = "the largest asks" if many else "it asks"
    return f"{jobs} nowhere in this Slurm; {asks} for {largest}: {'; '.join(reasons)}."


def _lacking(request: JobRequest, partition: Partition) -> list[str]:
    nodes, name = partition.nodes, partition.name
    cpus, mem_mb = max(node.cpus for node in nodes), max(node.mem_mb for node in nodes)
    reasons = []
    if partition.accounts is not None and request.account not in partition.accounts:
        admitted = ", ".join(partition.accounts)
        reasons.append(
            f"partition {name} is for the accounts {admitted} (see slurm_account {_IN_PROFILE})"
        )
    if partition.minutes is not None and request.minutes > partition.minutes:
        grants = f"partition {name} grants {many(partition.minutes, 'minute')}"
        other = f"slurm_partition {_IN_PROFILE}"
        reasons.append(f"{grants} (see cluster.longest_hours in the config, or {other})")
    if request.cpus > cpus:
        has = f"no node of partition {name} has more than {many(cpus, 'CPU')}"
        reasons.append(f"{has} (see compute.threads in the config)")
    if request.mem_mb > mem_mb:
        has = f"no node of partition {name} gives more than {mem_mb:,} MB"
        reasons.append(f"{has} (see cluster.node_memory_gb in the config)")
    if request.gpus > max(node.gpus_of(request.gpu_kind) for node in nodes):
        reasons.append(_lacking_gpus(request, partition))
    if not reasons and not any(_holds(node, request) for node in nodes):
        reasons.append(f"no node of partition {name} has all of it at once")
    return reasons


def names_of_fitting(sinfo: str, request: JobRequest) -> set[str]:
    """Of a row for each node: those that are large enough."""
    rows = [line.split("|") for line in sinfo.splitlines() if line.count("|") == 3]
    return {row[0].strip() for row in rows if _holds(_node(row[1:], {}), request)}


def _lacking_gpus(request: JobRequest, partition: Partition) -> str:
    kinds = sorted({kind for node in partition.nodes for kind in node.gpus if kind})
    most = max(node.gpus_of(None) for node in partition.nodes)
    if not most:
        return (
            f"no node of partition {partition.name} has a GPU (see slurm_partition {_IN_PROFILE})"
        )
    if request.gpu_kind and request.gpu_kind not in kinds:
        named = f"are called {', '.join(kinds)}" if kinds else "have no names of their own"
        return f"the GPUs of partition {partition.name} {named} (see gpu_request {_IN_PROFILE})"
    most = max(node.gpus_of(request.gpu_kind) for node in partition.nodes)
    has = f"no node of partition {partition.name} has more than {many(most, 'such GPU')}"
    return f"{has} (see cluster.gpus_per_node in the config)"


def _holds(node: Node, request: JobRequest) -> bool:
    enough = node.cpus >= request.cpus and node.mem_mb >= request.mem_mb
    return enough and node.gpus_of(request.gpu_kind) >= request.gpus


def _partition(name: str, facts: Mapping[str, str], nodes: tuple[Node, ...]) -> Partition:
    accounts = facts.get("AllowAccounts", "ALL")
    return Partition(
        name,
        is_default=facts.get("Default") == "YES",
        minutes=_minutes(facts.get("MaxTime", "UNLIMITED")),
        accounts=None if accounts == "ALL" else tuple(accounts.split(",")),
        nodes=nodes,
    )


def _node(row: Sequence[str], facts: Mapping[str, str]) -> Node:
    """As far as the partition lets a job have of it."""
    cpus, mem_mb, gres = row
    counts: dict[str | None, int] = {}
    for kind, count in _GPUS.findall(gres):
        counts[kind or None] = counts.get(kind or None, 0) + int(count)
    return Node(
        min(int(cpus.strip().rstrip("+")), _limit(facts.get("MaxCPUsPerNode"))),
        min(int(mem_mb.strip().rstrip("+")), _limit(facts.get("MaxMemPerNode"))),
        counts,
    )


def _limit(written: str | None) -> int:
    return int(written) if written and written.isdigit() and int(written) else 2**62


def _minutes(written: str) -> int | None:
    if written.upper() in _UNLIMITED or not (found := _DAYS.fullmatch(written)):
        return None
    days, hours, minutes, _seconds = (int(part or 0) for part in found.groups())
    return (days * 24 + hours) * 60 + minutes
