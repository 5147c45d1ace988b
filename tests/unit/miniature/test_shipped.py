"""Test that the shipped models are complete, and that the hub folder gets the same models."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import hash_file
from workflow_scripts.hub.manifest import describe_damage, read_manifest
from workflow_scripts.miniature.catalogue import MODELS, SHIPPED
from workflow_scripts.miniature.shipped import copy_model
from workflow_scripts.miniature.tokenizer import SPECS

SMALL = "Pythia-0.1M"


@pytest.fixture
def shipped_copy(tmp_path):
    """Return a copy of the shipped folder that a test may modify."""
    return shutil.copytree(SHIPPED, tmp_path / "shipped")


@pytest.mark.parametrize("name", MODELS)
def test_shipped_files_have_their_digests(name):
    digests = json.loads((SHIPPED / name / "made.json").read_text())["sha256"]
    files = ("../tokenizer.json", "config.json", "model.safetensors")
    for path in [(SHIPPED / name / file).resolve() for file in files]:
        assert digests[path.name] == hash_file(path)


@pytest.mark.parametrize("name", [SMALL, "Llama-1.4M-Instruct"])
def test_placed_model_weights(tmp_path, name):
    copy_model(tmp_path, name)
    folder = tmp_path / "models/miniature" / name
    model = AutoModelForCausalLM.from_pretrained(folder)
    own = model.state_dict()
    for key, value in load_file(SHIPPED / name / "model.safetensors").items():
        assert (value.dtype, own[key].dtype) == (torch.bfloat16, torch.float32)
        assert torch.equal(own[key], value.float()), key
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer("The fox")["input_ids"]
    assert tokenizer.decode(ids, skip_special_tokens=True) == "The fox"
    if SPECS[name].base:
        end_of_turn = tokenizer.convert_tokens_to_ids(SPECS[name].end_of_turn)
        assert model.generation_config.eos_token_id == [end_of_turn, tokenizer.eos_token_id]
    manifest = read_manifest(folder / "manifest.json")
    assert manifest.parameters == model.num_parameters()
    assert describe_damage(folder, manifest) == []


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "../tokenizer.json"])
def test_damaged_file_is_named(shipped_copy, tmp_path, file):
    path = (shipped_copy / SMALL / file).resolve()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(UserError, match=path.name):
        copy_model(tmp_path / "hub", SMALL, shipped_copy)
    assert not (tmp_path / "hub").exists()
