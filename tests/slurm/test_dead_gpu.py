"""A node whose GPU is dead, in a real Slurm: the job is tried again on another, and comes out there."""

import pytest

from tests.processes import ROOT
from tests.slurm.cluster import NODES
from tests.slurm.grid import SLURM, said
from tests.workflow.snakemake import start_snakemake

pytestmark = pytest.mark.slurm

SNAKEFILE = """
import sys
sys.path.insert(0, ROOT)
from workflow_scripts.bridge.slurm_nodes import try_again_elsewhere

onstart:
    try_again_elsewhere(workflow)

rule one:
    output: "nodes.txt"
    log: "logs/one.log"
    resources: mem_mb=1000, runtime=5, gpu=1, nodes=1
    script: "one.py"
"""
# The first two nodes that it comes to are dead.
ONE = """
import os, sys
from pathlib import Path
sys.path.insert(0, ROOT)
from workflow_scripts.bridge.step import step
with step(snakemake):
    with Path("tried.txt").open("a") as file:
        print(os.environ["SLURMD_NODENAME"], os.environ["CUDA_VISIBLE_DEVICES"], file=file)
    tried = Path("tried.txt").read_text().splitlines()
    if len(tried) < 3:
        raise RuntimeError("No CUDA GPUs are available")
    Path(snakemake.output[0]).write_text(tried[-1])
"""


def test_each_try_is_on_another_node(cluster, tmp_path):
    for name, text in {"Snakefile": SNAKEFILE, "one.py": ONE}.items():
        (tmp_path / name).write_text(text.replace("ROOT", repr(str(ROOT))))
    own = ["--snakefile", str(tmp_path / "Snakefile"), "--retries", "2"]
    run = start_snakemake(tmp_path, *own, *SLURM, **cluster.environment)
    assert run.wait(timeout=300) == 0, said(tmp_path)
    tried = [line.split()[0] for line in (tmp_path / "tried.txt").read_text().splitlines()]
    assert len(tried) == len(set(tried)) == 3 and set(tried) < set(NODES), tried
    assert f"tried again on another node than {tried[0]}, which failed" in said(tmp_path)
