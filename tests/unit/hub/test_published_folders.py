"""A folder that somebody trained with the published code becomes a model of the hub folder."""

import json

import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

from tests.tiny_tokenizers import smallest_tokenizer
from tests.unit.chunked.published import Published
from tests.unit.chunked.test_published import assert_computes
from tests.unit.hub.test_chunk import COMPUTE
from workflow_scripts.hub.load import load_model
from workflow_scripts.hub.local_folders import import_model_folder
from workflow_scripts.settings.folders import read_folder_row

NAME = "local/theirs"
PEFT = "base_model.model."
RANK, ALPHA = 2, 4


@pytest.fixture
def folder(tmp_path):
    smallest_tokenizer().save_pretrained(tmp_path / "theirs")
    return tmp_path / "theirs"


def load(folder, target):
    import_model_folder(folder, NAME, target)
    return load_model(target / "manifest.json", **COMPUTE).model


def save_adapters(published, folder, low_rank, in_full=(), **keys):
    """Save low-rank adapters for the layers so named, and others in full; published then has both."""
    weights = published.base.state_dict() | published.weights
    adapters = {}
    for name in low_rank:
        rows, columns = weights[f"{name}.weight"].shape
        up, down = torch.randn(rows, RANK) * 0.1, torch.randn(RANK, columns) * 0.1
        adapters |= {f"{PEFT}{name}.lora_A.weight": down, f"{PEFT}{name}.lora_B.weight": up}
        weights[f"{name}.weight"] += ALPHA / RANK * up @ down
    for name in in_full:
        new = torch.randn_like(weights[name]) * 0.15
        adapters[f"{PEFT}{name}"] = new
        weights[name].copy_(new)
    save_file(adapters, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": RANK, "lora_alpha": ALPHA}
    (folder / "adapter_config.json").write_text(json.dumps(config | keys))


def test_take_published_folder(folder, tmp_path):
    published = Published("llama")
    published.save(folder)
    row = read_folder_row(str(folder), ["Qwen2", "Llama"])
    assert (row.family, row.layers) == ("Llama", 6)
    model = load(folder, tmp_path / "taken")
    assert_computes(model, published)
    assert row.parameters == model.num_parameters()


@pytest.mark.parametrize("module", ["wrapped_chunk_layers", "aggregation_head"])
def test_adapters_and_weights_in_full(module, folder, tmp_path):
    """Load both as in the published run: the next stage has a plain model of both."""
    published = Published()
    published.save(folder)
    save_adapters(
        published,
        folder,
        [f"model.layers.{number}.self_attn.q_proj" for number in range(6)],
        [name for name in published.weights if module in name],
        target_modules=["q_proj"],
        modules_to_save=[module],
    )
    model = load(folder, tmp_path / "taken")
    assert_computes(model, published)
    model.save_pretrained(tmp_path / "saved")
    assert_computes(AutoModelForCausalLM.from_pretrained(tmp_path / "saved"), published)
