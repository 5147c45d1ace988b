"""What runs where: device and attention are chosen by the machine, and a refusal says why."""

import os
import shutil

import pytest
import torch
import transformers

from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.load import choose_attention, choose_device, load_model, over_cards
from workflow_scripts.hub.manifest import list_files, read_manifest, write_manifest
from workflow_scripts.hub.mirror import read_rows

CPU = {"device": "cpu", "dtype": "float32", "attention": "auto"}


def test_flash_attention_runs_only_where_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(transformers.utils, "is_flash_attn_2_available", lambda: True)
    assert choose_attention("auto", "Qwen2ForCausalLM") is None
    assert choose_attention("auto", "Gemma2ForCausalLM") == "eager"
    assert choose_attention("flash_attention_2", "Gemma2ForCausalLM") == "flash_attention_2"
    assert choose_attention("sdpa", "Gemma2ForCausalLM") == "sdpa"


@pytest.mark.parametrize(
    ("architecture", "expected"),
    [
        ("GemmaForCausalLM", "eager"),
        ("Gemma2ForCausalLM", "eager"),
        ("LlamaForCausalLM", "sdpa"),
        (None, "sdpa"),
    ],
)
def test_the_published_attention_is_eager_for_every_gemma(architecture, expected):
    assert choose_attention("published", architecture) == expected


def test_a_gpu_is_taken_where_there_is_one_and_missed_where_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto") == choose_device("cuda") == "cuda"
    assert choose_device("cpu") == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == "cpu"
    with pytest.raises(UserError, match=r"compute\.device is 'cuda'"):
        choose_device("cuda")


def test_weights_are_spread_over_the_cards_of_a_job_where_one_does_not_hold_them(
    model_manifest, monkeypatch
):
    manifest = read_manifest(model_manifest).model_copy(update={"parameters": 70_000_000_000})
    cards = 4
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cards)
    monkeypatch.setattr("workflow_scripts.hub.load.room_on", lambda _: 79 * 10**9)
    told = over_cards(manifest, "bfloat16", "cuda")
    assert (told["device_map"], sorted(told["max_memory"])) == ("balanced", [0, 1, 2, 3])
    fits = manifest.model_copy(update={"parameters": 30_000_000_000})
    assert over_cards(fits, "bfloat16", "cuda") == over_cards(manifest, "bfloat16", "cpu") == {}
    assert over_cards(fits, "float32", "cuda")["device_map"] == "balanced"
    cards = 1
    assert over_cards(manifest, "bfloat16", "cuda") == {}


@pytest.mark.parametrize(("yours", "found"), [(None, "1"), ("0", "0")])
def test_attention_with_plans_stands_behind_the_others_once_a_model_is_loaded(
    model_manifest, monkeypatch, yours, found
):
    """PyTorch reads it once, at the first attention: whoever has a model has asked by then."""
    name = "TORCH_CUDNN_SDPA_DEPRIORITIZED"
    monkeypatch.setenv(name, yours or "")
    if yours is None:
        monkeypatch.delenv(name)
    load_model(model_manifest, **CPU)
    assert os.environ[name] == found


def test_a_model_says_which_attention_runs(model_manifest):
    loaded = load_model(model_manifest, **CPU)
    assert (loaded.attention, loaded.dtype, loaded.device) == ("sdpa", "float32", "cpu")
    assert load_model(model_manifest, **(CPU | {"attention": "eager"})).attention == "eager"
    assert not loaded.model.training


def list_again(folder):
    """A manifest that vouches for what the folder holds now."""
    manifest = read_manifest(folder / "manifest.json")
    write_manifest(folder, manifest.model_copy(update={"files": list_files(folder)}))


def test_a_model_whose_files_are_not_those_of_its_manifest_is_not_loaded(model_manifest, tmp_path):
    folder = shutil.copytree(model_manifest.parent, tmp_path / "model")
    with (folder / "model.safetensors").open("ab") as weights:
        weights.write(b"0")
    with pytest.raises(UserError, match=r"model\.safetensors has \d+ bytes; expected \d+"):
        load_model(folder / "manifest.json", **CPU)


def test_weights_that_are_not_safetensors_are_never_loaded(model_manifest, tmp_path):
    folder = shutil.copytree(model_manifest.parent, tmp_path / "model")
    model = load_model(model_manifest, **CPU).model
    (folder / "model.safetensors").unlink()
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    list_again(folder)
    with pytest.raises(UserError, match="cannot be loaded"):
        load_model(folder / "manifest.json", **CPU)


def test_code_in_a_model_folder_is_never_run(model_manifest, tmp_path):
    folder = shutil.copytree(model_manifest.parent, tmp_path / "model")
    config = (folder / "config.json").read_text()
    trap = tmp_path / "sprung"
    (folder / "code.py").write_text(f"open({str(trap)!r}, 'w')\nclass C: pass\n")
    (folder / "config.json").write_text(
        config.replace("{", '{"auto_map": {"AutoConfig": "code.C", "AutoModelForCausalLM": "code.C"},', 1)
        .replace('"gpt_neox"', '"unheard_of"')
    )  # fmt: skip
    list_again(folder)
    with pytest.raises(UserError, match="cannot be loaded"):
        load_model(folder / "manifest.json", **CPU)
    assert not trap.exists()


def test_reading_writes_nothing_into_the_hub(world, model_manifest):
    """It may be a disk that is read-only, or somebody else's."""

    def held():
        return {path: path.stat().st_mtime_ns for path in world.rglob("*")}

    before = held()
    load_model(model_manifest, **CPU)
    read_rows(world, "nyu-mll/glue", "sst2", "validation")
    assert held() == before
