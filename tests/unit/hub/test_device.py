"""A GPU that was asked for or given is used, or the job ends: nothing runs on the CPU without a word."""

import pytest
import torch

from workflow_scripts.bridge.gpus import is_given, take_gpus
from workflow_scripts.core.machine import MachineFault, describe_machine_fault
from workflow_scripts.hub.load import choose_device

SIGNS = ("CHORUS_GPUS", "SLURM_JOB_GPUS", "SLURM_GPUS_ON_NODE", "CUDA_VISIBLE_DEVICES")


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    """As a PyTorch with CUDA has it where the driver has lost the card."""
    for name in (*SIGNS, "ROCR_VISIBLE_DEVICES", "CHORUS_GPU_GIVEN"):
        monkeypatch.setenv(name, "")  # so that what the code sets is taken back
        monkeypatch.delenv(name)

    def init():
        raise RuntimeError("No CUDA GPUs are available")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "init", init)


def refused(wanted: str) -> str:
    with pytest.raises(MachineFault) as raised:
        choose_device(wanted)
    assert describe_machine_fault(raised.value)
    return str(raised.value)


def test_asked_for_by_name_it_is_no_broken_cell_and_no_cpu():
    said = refused("cuda")
    assert "compute.device is 'cuda'" in said and "No CUDA GPUs are available" in said


@pytest.mark.parametrize("asked", [{"gpu": 1, "gpu_model": "a100"}, {"gres": "gpu:a100:1"}])
@pytest.mark.parametrize("sign", ["SLURM_JOB_GPUS", "CUDA_VISIBLE_DEVICES"])
def test_given_by_a_scheduler_it_is_used_or_the_job_ends(asked, sign, monkeypatch):
    monkeypatch.setenv(sign, "0")
    assert choose_device("auto") == "cpu", "of a job that asks for none"
    take_gpus(asked)
    assert is_given()
    assert "This job was given a GPU" in refused("auto")


@pytest.mark.parametrize("asked", [{"gpu": 1}, {"gpu": 0}, {"mem_mb": 1000}, {}])
def test_where_no_scheduler_gives_any_auto_is_the_cpu(asked):
    take_gpus(asked)
    assert choose_device("auto") == "cpu"


def test_the_cpu_is_the_cpu_whatever_was_given(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_GPUS", "0")
    take_gpus({"gpu": 1})
    assert choose_device("cpu") == "cpu"
