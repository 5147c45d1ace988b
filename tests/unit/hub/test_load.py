"""Test loading: the choice of device, dtype and attention, and the reasons of refusals."""

import shutil

import pytest
import torch

from tests.tiny_models import sealed
from workflow_scripts.bridge.gpus import has_gpu, reserve_gpus
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.hardware_errors import HardwareError, describe_hardware_error
from workflow_scripts.hub.load import (
    choose_device,
    load_model,
)
from workflow_scripts.hub.mirror import read_rows

CPU = {"device": "cpu", "dtype": "float32", "attention": "auto"}
FLASH = "flash_attention_2"


@pytest.fixture
def no_gpu(monkeypatch):
    """Make PyTorch behave as with CUDA when the driver has lost the GPU."""
    for name in ("CHORUS_GPUS", "CUDA_VISIBLE_DEVICES", "CHORUS_GPU_GIVEN"):
        monkeypatch.setenv(name, "")  # so that monkeypatch undoes what the code sets
        monkeypatch.delenv(name)

    def init():
        raise RuntimeError("No CUDA GPUs are available")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "init", init)


@pytest.mark.usefixtures("no_gpu")
def test_choose_device(monkeypatch):
    """A requested or assigned GPU is used, or the job fails with a hardware error, not a failed cell."""
    assert choose_device("auto") == "cpu", "for a job that requests no GPU"
    monkeypatch.setenv("CHORUS_GPUS", "")
    reserve_gpus({"gpu": 1})
    assert choose_device("auto") == "cpu", "on a machine without GPUs"
    monkeypatch.delenv("CHORUS_GPUS")  # as on Slurm
    reserve_gpus({"gres": "gpu:a100:1"})
    assert has_gpu() and choose_device("cpu") == "cpu"
    for device in ("auto", "cuda"):
        with pytest.raises(HardwareError, match="No CUDA GPUs are available") as raised:
            choose_device(device)
        assert describe_hardware_error(raised.value)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto") == choose_device("cuda") == "cuda"


def test_load_model(world, model_manifest):
    """A loaded model reports its attention, and loading writes nothing into the hub folder."""

    def list_times():
        return {path: path.stat().st_mtime_ns for path in world.rglob("*")}

    before = list_times()
    loaded = load_model(model_manifest, **CPU)
    assert (loaded.attention, loaded.dtype, loaded.device) == ("sdpa", "float32", "cpu")
    assert load_model(model_manifest, **(CPU | {"attention": "eager"})).attention == "eager"
    assert not loaded.model.training
    read_rows(world, "nyu-mll/glue", "sst2", "validation")
    assert list_times() == before


def change_size(folder):
    with (folder / "model.safetensors").open("ab") as weights:
        weights.write(b"0")


def pickle_weights(folder):
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    sealed(folder)


def plant_code(folder):
    (folder / "code.py").write_text(f"open({str(folder / 'sprung')!r}, 'w')\nclass C: pass\n")
    config = (folder / "config.json").read_text().replace('"gpt_neox"', '"unheard_of"')
    auto_map = '{"auto_map": {"AutoConfig": "code.C", "AutoModelForCausalLM": "code.C"},'
    (folder / "config.json").write_text(config.replace("{", auto_map, 1))
    sealed(folder)


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (change_size, {}, r"model\.safetensors is missing or does not have the \d+ bytes"),
        (pickle_weights, {}, "cannot be loaded"),
        (plant_code, {}, "cannot be loaded"),
        (sealed, {"dtype": "8bit"}, "the precision 8bit needs a GPU"),
        (sealed, {"dtype": "bfloat16", "attention": FLASH}, "FlashAttention2"),
    ],
)
def test_load_model_refused(model_manifest, tmp_path, change, options, words):
    folder = shutil.copytree(model_manifest.parent, tmp_path / "model")
    change(folder)
    with pytest.raises(UserError, match=words):
        load_model(folder / "manifest.json", **CPU | options)
    assert not (folder / "sprung").exists(), "code of a model folder was run"


@pytest.mark.gpus(1)
@pytest.mark.parametrize("precision", ["8bit", "4bit"])
def test_load_quantized(model_manifest, precision):
    pytest.importorskip("bitsandbytes")
    exact, small = (
        load_model(model_manifest, device="cuda", dtype=dtype, attention="eager")
        for dtype in ("float16", precision)
    )
    assert small.dtype == precision
    ids = torch.arange(3, 35, device="cuda")[None]
    probabilities, quantized_probabilities = (
        m.model(ids).logits.float().softmax(-1) for m in (exact, small)
    )
    assert 0 < (probabilities - quantized_probabilities).abs().sum(-1).mean() < 0.5
    assert small.model.get_memory_footprint() < exact.model.get_memory_footprint()
