"""What a training leaves behind loads anywhere, and computes what the trained model computed."""

import shutil

import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.tiny_models import edit_config, put_in_hub, sealed, tiny_model
from tests.tiny_tokenizers import smallest_tokenizer
from tests.unit.training.small import keys_of, train_small
from workflow_scripts.hub.load import load_model
from workflow_scripts.hub.manifest import read_manifest, verify
from workflow_scripts.training.output import save_checkpoint

COMPUTE = {"device": "cpu", "attention": "auto"}


@pytest.fixture(params=["plain", "chunked"])
def base(request, tmp_path):
    """The manifest of a model as the hub folder holds it."""
    model = tiny_model("qwen2" if request.param == "plain" else "fused", layers=6)
    return put_in_hub(model, tmp_path / "base", smallest_tokenizer())


def loader(manifest):
    return lambda dtype: load_model(manifest, dtype=dtype, **COMPUTE).model


def trained_and_saved(manifest, folder, **changes):
    trained = train_small(
        folder.with_name("state"), load=loader(manifest), max_steps=6, schedule="constant", **changes
    )  # fmt: skip
    keys = keys_of(**{k: v for k, v in changes.items() if k != "score"})
    save_checkpoint(
        loader(manifest),
        trained.parameters,
        manifest,
        folder,
        id="org/base+cpt",
        keys=keys,
    )
    return trained


IDS = torch.tensor([[5, 9, 13, 2, 40]])


@torch.no_grad()
def logits(model):
    return model.eval()(input_ids=IDS, use_cache=False).logits


LORA = {"method": "lora", "lora_rank": 2, "learning_rate": 1e-2}
WAYS = {
    "full": {},
    "merged": LORA,
    "adapter": LORA | {"lora_output": "adapter"},
    "adapter and a part in full": LORA | {"lora_output": "adapter", "trains": ["layers 2"]},
}


@pytest.mark.parametrize("way", WAYS)
def test_it_loads_from_anywhere_and_computes_the_same(base, tmp_path, monkeypatch, way):
    trained = trained_and_saved(base, tmp_path / "trained", **WAYS[way])
    expected = logits(trained.model)
    assert not torch.allclose(expected, logits(loader(base)("float32")), atol=1e-2)
    folder = shutil.move(tmp_path / "trained", tmp_path / "moved")
    shutil.rmtree(base.parent)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert torch.allclose(logits(AutoModelForCausalLM.from_pretrained(folder)), expected, atol=1e-5)
    ours = load_model(folder / "manifest.json", dtype="float32", **COMPUTE).model
    assert torch.allclose(logits(ours), expected, atol=1e-5)
    assert (folder / "adapter_config.json").exists() == way.startswith("adapter")
    verify(folder, read_manifest(folder / "manifest.json"))


def test_a_checkpoint_with_an_adapter_is_trained_further_as_a_whole(base, tmp_path):
    """transformers would save the adapter alone, and the base's own change would be lost."""
    trained_and_saved(base, tmp_path / "one", **WAYS["adapter"])
    manifest = tmp_path / "one/manifest.json"
    again = trained_and_saved(manifest, tmp_path / "two", method="full")
    assert not any("lora" in name for name in again.parameters)
    found = AutoModelForCausalLM.from_pretrained(tmp_path / "two")
    assert torch.allclose(logits(found), logits(again.model), atol=1e-5)
    names = {file.path for file in read_manifest(tmp_path / "two/manifest.json").files}
    assert "adapter_config.json" not in names and "adapter_model.safetensors" not in names


def test_the_weights_are_stored_in_the_bases_format(base, tmp_path):
    edit_config(base.parent, dtype="bfloat16")
    sealed(base.parent)
    trained_and_saved(base, tmp_path / "one", **WAYS["merged"])
    found = AutoModelForCausalLM.from_pretrained(tmp_path / "one")
    assert {p.dtype for p in found.parameters()} == {torch.bfloat16}
