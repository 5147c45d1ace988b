"""Test importing models trained with the published code into the hub folder."""

import json
import shutil

import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

from tests.tiny_tokenizers import smallest_tokenizer
from tests.unit.chunked.published import rewrite, save_published
from tests.unit.chunked.reference import assert_equal, fresh_ids
from tests.unit.hub.test_build_chunked import COMPUTE
from workflow_scripts.hub.load import load_model
from workflow_scripts.hub.local_folders import import_model_folder

PEFT = "base_model.model."
RANK, ALPHA = 2, 4


@pytest.fixture
def folder(tmp_path):
    smallest_tokenizer().save_pretrained(tmp_path / "theirs")
    save_published(tmp_path / "theirs", "llama")
    return tmp_path / "theirs"


def load(folder, target):
    import_model_folder(folder, "local/theirs", target)
    return load_model(target / "manifest.json", **COMPUTE).model


def save_adapters(folder, merged, module):
    """Save LoRA weights of q_proj and a fully trained module, and a copy of the model with both merged."""
    shutil.copytree(folder, merged)
    adapters = {}

    def merge(weights):
        for name in list(weights):
            if name.endswith("self_attn.q_proj.weight"):
                rows, columns = weights[name].shape
                up, down = torch.randn(rows, RANK) * 0.1, torch.randn(RANK, columns) * 0.1
                layer = name.removesuffix(".weight")
                adapters[f"{PEFT}{layer}.lora_A.weight"] = down
                adapters[f"{PEFT}{layer}.lora_B.weight"] = up
                weights[name] = weights[name] + ALPHA / RANK * up @ down
            elif module in name:
                weights[name] = torch.randn_like(weights[name]) * 0.15
                adapters[f"{PEFT}{name}"] = weights[name]
        return weights

    rewrite(merged, merge)
    save_file(adapters, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": RANK, "lora_alpha": ALPHA}
    config |= {"target_modules": ["q_proj"], "modules_to_save": [module]}
    (folder / "adapter_config.json").write_text(json.dumps(config))


@pytest.mark.parametrize("module", ["wrapped_chunk_layers", "aggregation_head"])
@torch.no_grad()
def test_adapters_and_weights_in_full(module, folder, tmp_path):
    """Loading merges both, as the published code does; the next stage starts from a plain model."""
    save_adapters(folder, tmp_path / "merged", module)
    model = load(folder, tmp_path / "taken")
    model.save_pretrained(tmp_path / "saved")
    ids = fresh_ids(2, 7)
    expected = AutoModelForCausalLM.from_pretrained(tmp_path / "merged")(ids).logits
    assert_equal(model(ids).logits, expected)
    assert_equal(AutoModelForCausalLM.from_pretrained(tmp_path / "saved")(ids).logits, expected)
