"""A training on two nodes of a real Slurm, two processes on each: asked to leave, and resumed."""

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
    input: base=BASE, samples=SAMPLES
    output: manifest="out/manifest.json", record="record.json"
    log: "logs/train.log"
    retries: 1
    threads: 1
    resources: **resources(lambda wildcards: Need(60, 4_000, gpus=4, nodes=2), Cluster(), "gpus", over_nodes=True)
    params: version="1", compute_threads=1, request=REQUEST
    script: ROOT + "/workflow_scripts/steps/train_checkpoint.py"
"""
KEYS = {"epochs": 8, "save_every": 1_000}


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
    log = tmp_path / "logs/train.log"

    def trains():
        assert run.poll() is None, said(tmp_path)
        return log.exists() and "step/s" in log.read_text()

    wait_until(trains, "it trains", patience=300)
    (job,) = [one for one in cluster.jobs() if cluster.facts(one)["WorkDir"] == str(tmp_path)]
    assert cluster.facts(job)["NumNodes"] == "2"
    cluster.ask(
        "scancel", "--signal=TERM", job
    )  # to what srun runs, as Slurm does ahead of the limit
    assert run.wait(timeout=300) == 0, said(tmp_path) + log.read_text()
    assert "Going on from checkpoint" in log.read_text()
    together = read_training_record(tmp_path / "record.json")
    for one, other in zip(alone.curve, together.curve, strict=True):
        assert (one.step, one.epoch) == (other.step, other.epoch)
        assert other.loss == pytest.approx(one.loss, abs=1e-4)
    weights = load_file(tmp_path / "out/model.safetensors")
    for name, tensor in load_file(tmp_path / "alone/model.safetensors").items():
        assert torch.allclose(weights[name], tensor, atol=1e-4), name
