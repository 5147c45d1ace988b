"""Whether a job fits into a cluster, from the words of sinfo and scontrol.

SMALL is what the Slurm of tests/slurm says (22.05). LARGE has what larger ones add: names of GPUs with the
sockets they are at, nodes of several kinds, limits of days, and limits of a partition.
"""

from dataclasses import replace

import pytest

from workflow_scripts.bridge.slurm_offer import JobRequest, misfits, offered, why_it_fits_nowhere

SMALL = offered(
    "batch|1|6000|gpu:2\nurgent|1|6000|gpu:2\nshort|1|6000|gpu:2\nfunded|1|6000|gpu:2\n",
    """\
PartitionName=batch AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=YES QoS=N/A \
DefaultTime=NONE MaxNodes=UNLIMITED MaxTime=UNLIMITED MinNodes=0 MaxCPUsPerNode=UNLIMITED Nodes=node[1-4] \
State=UP TotalCPUs=4 DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED TRES=cpu=4,mem=24000M,node=4,billing=4
PartitionName=short AllowAccounts=ALL Default=NO MaxTime=00:30:00 MaxCPUsPerNode=UNLIMITED Nodes=node[1-2]
PartitionName=funded AllowAccounts=physics Default=NO MaxTime=01:00:00 MaxCPUsPerNode=UNLIMITED Nodes=node[1-4]
""",
)
LARGE = offered(
    "cpu|64|250000|(null)\n"
    "gpu|64|500000|gpu:a100:4(S:0-1)\n"
    "gpu|32|190000|gpu:v100:2(S:0),gpu:1080ti:1(S:1),nvme:1\n",
    "PartitionName=cpu AllowAccounts=ALL Default=NO MaxTime=2-00:00:00 MaxCPUsPerNode=16 MaxMemPerNode=100000\n"
    "PartitionName=gpu AllowAccounts=a,b Default=NO MaxTime=1-12:00:00\n",
)
A_JOB = JobRequest(partition="batch", cpus=1, mem_mb=3_000, minutes=24)
A_GPU_JOB = JobRequest("gpu", cpus=32, mem_mb=200_000, minutes=36 * 60, gpus=4, account="a")


def test_what_fits_has_no_reason():
    assert why_it_fits_nowhere(A_JOB, SMALL) == []
    assert why_it_fits_nowhere(replace(A_JOB, gpus=2), SMALL) == []
    assert why_it_fits_nowhere(A_GPU_JOB, LARGE) == []
    assert why_it_fits_nowhere(replace(A_GPU_JOB, gpu_kind="a100"), LARGE) == []


def test_where_no_partition_is_named_the_default_one_counts():
    long = replace(A_JOB, partition=None, minutes=10**6, cpus=2)
    (reason,) = why_it_fits_nowhere(long, SMALL)
    assert reason.startswith("no node of partition batch has more than 1 CPU")
    assert why_it_fits_nowhere(long, LARGE) == [], "nobody knows which one takes it"


@pytest.mark.parametrize(
    ("job", "cluster", "reason", "line"),
    [
        (replace(A_JOB, partition="main"), SMALL, "no partition main, but", "slurm_partition"),
        (replace(A_JOB, mem_mb=6_001), SMALL, "more than 6,000 MB", "cluster.node_memory_gb"),
        (replace(A_JOB, cpus=8), SMALL, "more than 1 CPU", "compute.threads"),
        (replace(A_JOB, partition="short", minutes=31), SMALL, "30 minutes", "longest_hours"),
        (replace(A_JOB, partition="funded"), SMALL, "accounts physics", "slurm_account"),
        (replace(A_JOB, gpus=3), SMALL, "more than 2 such GPUs", "cluster.gpus_per_node"),
        (replace(A_JOB, gpus=1, gpu_kind="a100"), SMALL, "no names of their own", "gpu_request"),
        (replace(A_GPU_JOB, gpu_kind="h100"), LARGE, "called 1080ti, a100, v100", "gpu_request"),
        (replace(A_GPU_JOB, gpu_kind="v100"), LARGE, "more than 2 such GPUs", "gpus_per_node"),
        (replace(A_GPU_JOB, minutes=36 * 60 + 1), LARGE, "2,160 minutes", "longest_hours"),
        (replace(A_GPU_JOB, partition="cpu"), LARGE, "cpu has a GPU", "slurm_partition"),
    ],
)
def test_what_is_missing_is_named_with_what_to_mend(job, cluster, reason, line):
    assert any(reason in one and line in one for one in why_it_fits_nowhere(job, cluster))


def test_the_limits_of_a_partition_are_those_of_its_nodes():
    job = JobRequest("cpu", cpus=17, mem_mb=100_001, minutes=60)
    reasons = why_it_fits_nowhere(job, LARGE)
    assert [reason.partition(" (see")[0] for reason in reasons] == [
        "no node of partition cpu has more than 16 CPUs",
        "no node of partition cpu gives more than 100,000 MB",
    ]


def test_what_two_kinds_of_nodes_have_no_node_may_have_at_once():
    job = replace(A_GPU_JOB, gpus=1, gpu_kind="v100")
    assert why_it_fits_nowhere(job, LARGE) == ["no node of partition gpu has all of it at once"]


def test_jobs_of_a_rule_that_lack_the_same_are_one_sentence_with_the_largest():
    requests = [
        ("evaluate_direct", A_JOB),
        ("train_before_test", replace(A_JOB, mem_mb=7_000)),
        ("train_before_test", replace(A_JOB, mem_mb=9_000)),
        ("train_before_test", replace(A_JOB, cpus=2)),
    ]
    assert misfits(requests, SMALL) == [
        "2 jobs of train_before_test fit nowhere in this Slurm; the largest asks for partition batch,"
        " 1 CPU, 9,000 MB, 24 minutes, no GPU: no node of partition batch gives more than 6,000 MB"
        " (see cluster.node_memory_gb in the config).",
        "A job of train_before_test fits nowhere in this Slurm; it asks for partition batch, 2 CPUs,"
        " 3,000 MB, 24 minutes, no GPU: no node of partition batch has more than 1 CPU"
        " (see compute.threads in the config).",
    ]
