"""Several processes train the model of a single one, and exit together."""

import json
import os
import signal
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file

from tests.processes import ROOT
from tests.tiny_models import make_tiny_model, put_in_hub
from tests.tiny_tokenizers import smallest_tokenizer
from tests.unit.training.small import draw_samples, make_keys
from tests.waiting import wait_until
from workflow_scripts.core.training_record import read_training_record
from workflow_scripts.training.requests import StageRequest
from workflow_scripts.training.samples import BadSamples, write_samples

pytestmark = pytest.mark.slow

# A process that runs the rule's script.
PARENT = """
import json, runpy, sys
from types import SimpleNamespace
params = json.loads(sys.argv[1])
folder = params["folder"]
snakemake = SimpleNamespace(
    rule="train_checkpoint",
    log=[folder + "/log.txt"],
    threads=1,
    input={"base": params["base"], "samples": params["samples"]},
    output={"manifest": folder + "/out/manifest.json", "record": folder + "/record.json"},
    params={"version": "1", "request": params["request"]},
    wildcards={},
)
runpy.run_module("workflow_scripts.steps.train_checkpoint", init_globals={"snakemake": snakemake})
"""


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Start the rule's script in a folder of its own."""
    inputs = tmp_path_factory.mktemp("inputs")
    base = put_in_hub(make_tiny_model("qwen2", layers=2), inputs / "base", smallest_tokenizer())
    samples, summary = draw_samples(43), inputs / "samples.json"
    write_samples(summary, samples, BadSamples())

    def start(folder, gpus):
        # Plain steps, as far as AdamW has them: rounding must not decide their direction.
        request = StageRequest(
            id="org/base+cpt",
            recipe="own",
            keys=make_keys(learning_rate=1e-4, warmup_ratio=0.5, epochs=12, gpus=gpus),
            validation=0.1,
            seed=0,
            device="cpu",
            attention="auto",
            threads=1,
        )
        params = {"base": str(base), "samples": str(summary), "folder": str(folder)}
        params["request"] = request.to_params()
        return subprocess.Popen(
            [sys.executable, "-c", PARENT, json.dumps(params)],
            cwd=ROOT,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )

    return start


def load_outcome(folder):
    return read_training_record(folder / "record.json").curve, load_file(
        folder / "out/model.safetensors"
    )


def test_two_processes_equal_one(start, tmp_path):
    folders = [tmp_path / name for name in ("one", "two", "interrupted")]
    for folder in folders:
        folder.mkdir()
    for gpus, folder in zip((1, 2), folders[:2], strict=True):
        assert start(folder, gpus).wait() == 0, (folder / "log.txt").read_text()
    (single_curve, single_weights), (parallel_curve, parallel_weights) = map(
        load_outcome, folders[:2]
    )
    for single, parallel in zip(single_curve, parallel_curve, strict=True):
        assert single.step == parallel.step
        if single.loss is None:
            assert parallel.held_out["loss"] == pytest.approx(single.held_out["loss"], abs=1e-4)
        else:
            assert parallel.loss == pytest.approx(single.loss, abs=1e-4)
            assert parallel.grad_norm == pytest.approx(single.grad_norm, rel=1e-3)
    for name, weights in single_weights.items():
        assert torch.allclose(parallel_weights[name], weights, atol=1e-4), name

    folder = folders[2]
    process, log = start(folder, 2), folder / "log.txt"
    wait_until(lambda: log.exists() and "it/s" in log.read_text(), "it trains")
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 75, log.read_text()
    assert start(folder, 2).wait() == 0, log.read_text()
    assert "Resuming from" in log.read_text()
    curve, weights = load_outcome(folder)
    assert curve == parallel_curve
    assert all(torch.equal(weights[name], tensor) for name, tensor in parallel_weights.items())
