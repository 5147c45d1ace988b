"""What a user sees whose names or numbers are not the cluster's: Slurm's words in a sentence, and where to look."""

import re

import pytest

from tests.slurm.grid import said, start_on_slurm
from tests.workflow.grid import folder_with_hub

pytestmark = pytest.mark.slurm

# By rule what it asks for by mistake, with what the sentence about it says: two rules, two mistakes a run.
PARTITION = (["slurm_partition=nosuch"], "partition nosuch", "Invalid partition", "slurm_partition")
MEMORY = (["mem_mb=999999"], "999,999 MB", "not available", "cluster.node_memory_gb")
ACCOUNT = (
    ["slurm_partition=funded", "slurm_account=nosuch"],
    "account nosuch",
    "Invalid account",
    "slurm_account",
)
GPU_NAME = (["gpu=1", "gpu_model=a100"], "1 GPU a100", "not available", "gpu_request")
TIME = (
    ["slurm_partition=short", "runtime=240"],
    "240 minutes",
    "time limit",
    "cluster.longest_hours",
)
CPUS = (["cpus_per_task=64"], "64 CPUs", "processors", "compute.threads")
RUNS = {
    "partition, memory": {"evaluate_direct": PARTITION, "train_before_test": MEMORY},
    "account, GPUs": {"evaluate_direct": ACCOUNT, "train_before_test": GPU_NAME},
    "time, CPUs": {"evaluate_direct": TIME, "train_before_test": CPUS},
}


def mistaken(run: dict) -> list[str]:
    asked = [f"{rule}:{one}" for rule, (wrong, *_) in run.items() for one in wrong]
    return ["--set-resources", *asked]


@pytest.mark.parametrize("name", RUNS)
def test_each_refused_rule_is_told_once_with_what_it_asked_for_and_where_to_look(
    cluster, finished_grid, tmp_path, name
):
    folder = folder_with_hub(finished_grid, tmp_path / "slurm")
    run = start_on_slurm(cluster, folder, *mistaken(RUNS[name]))
    assert run.wait() == 1, said(folder)
    text = said(folder)
    assert "Traceback" not in text
    assert "guess" not in text, "the profile says slurm-no-account"
    for rule, (_, asked, words, line) in RUNS[name].items():
        (sentence,) = re.findall(rf"^Slurm refused a job of {rule} .*$", text, re.M)
        assert asked in sentence and words in sentence and line in sentence, sentence


def test_check_cluster_names_what_fits_nowhere_and_submits_nothing(
    cluster, finished_grid, tmp_path
):
    folder = folder_with_hub(finished_grid, tmp_path / "slurm")
    before = cluster.jobs("all")
    check = {"targets": ["check_cluster"]}
    run = start_on_slurm(cluster, folder, *mistaken(RUNS["time, CPUs"]), **check)
    assert run.wait() == 1, said(folder)
    text = said(folder)
    assert "partition short grants 30 minutes" in text
    assert "no node of partition batch has more than 1 CPU" in text
    assert "Slurm refused" not in text and cluster.jobs("all") == before
    run = start_on_slurm(cluster, folder, **check)
    assert run.wait() == 0, said(folder)
    assert re.search(r"All \d+ jobs that are to run fit into this Slurm \(batch\)", said(folder))
    assert not (folder / "results").exists() and cluster.jobs("all") == before
