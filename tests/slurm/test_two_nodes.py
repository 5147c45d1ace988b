"""A training on two nodes of a real Slurm, two processes on each, beside one in a single process."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.processes import ROOT
from tests.slurm.grid import SLURM, said
from tests.unit.training.stage import stage_inputs, stage_request
from tests.waiting import wait_until
from tests.workflow.snakemake import start_snakemake
from workflow_scripts.core.training_record import read_training_record
from workflow_scripts.training.checkpoint_stage import train_stage

pytestmark = pytest.mark.slurm

SNAKEFILE = """
import sys
sys.path.insert(0, ROOT)
from workflow_scripts.bridge.resources import resources
from workflow_scripts.planning.need import Need
from workflow_scripts.settings.cluster import Cluster

rule train_checkpoint:
    input: base=BASE, samples=SAMPLES, shorter=[]
    output: manifest="out/manifest.json", record="record.json"
    log: "logs/train.log"
    threads: 1
    resources: **resources(lambda wildcards: Need(60, 4_000, gpus=4, nodes=2), Cluster(), "gpus", over_nodes=True)
    params: version="1", compute_threads=1, request=REQUEST
    script: ROOT + "/workflow_scripts/steps/train_checkpoint.py"
"""
KEYS = {"epochs": 2}


def test_they_train_what_one_process_does(cluster, tmp_path):
    given = stage_inputs(tmp_path / "inputs")
    alone = train_stage(
        *(Path(given["base"]), Path(given["samples"])),
        *(tmp_path / "alone", tmp_path / "alone.json", stage_request(**KEYS)),
    )
    request = stage_request(**KEYS, gpus=4, nodes=2, sharded=True).as_params()
    names = {"ROOT": str(ROOT), "BASE": given["base"], "SAMPLES": given["samples"]}
    values = "".join(
        f"{name} = {value!r}\n" for name, value in (names | {"REQUEST": request}).items()
    )
    (tmp_path / "Snakefile").write_text(values + SNAKEFILE)
    own = ["--snakefile", str(tmp_path / "Snakefile")]
    run = start_snakemake(tmp_path, *own, *SLURM, **cluster.environment)

    def submitted():
        return [one for one in cluster.jobs() if cluster.facts(one)["WorkDir"] == str(tmp_path)]

    (job,) = wait_until(submitted, "its job is there")
    assert cluster.facts(job)["NumNodes"].split("-")[0] == "2"  # of a waiting one a range
    assert run.wait(timeout=600) == 0, said(tmp_path)
    together = read_training_record(tmp_path / "record.json")
    for one, other in zip(alone.curve, together.curve, strict=True):
        assert (one.step, one.epoch) == (other.step, other.epoch)
        assert other.loss == pytest.approx(one.loss, abs=1e-4)
    weights = load_file(tmp_path / "out/model.safetensors")
    for name, tensor in load_file(tmp_path / "alone/model.safetensors").items():
        assert torch.allclose(weights[name], tensor, atol=1e-4), name
