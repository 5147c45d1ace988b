"""Test that a saved checkpoint loads with transformers and has the logits of the trained model."""

import shutil

import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.tiny_models import edit_config, make_tiny_model, put_in_hub, sealed
from tests.tiny_tokenizers import smallest_tokenizer
from tests.unit.training.tiny_training import make_keys, train_tiny
from workflow_scripts.hub.load import load_model
from workflow_scripts.hub.manifest import describe_damage, read_manifest
from workflow_scripts.training.output import save_checkpoint

IDS = torch.tensor([[5, 9, 13, 2, 40]])
LORA = {"method": "lora", "lora_rank": 2, "learning_rate": 1e-2}


@pytest.fixture(params=["qwen2", "fused"])
def base(request, tmp_path):
    """Save a model in a hub folder, and return its manifest."""
    return put_in_hub(
        make_tiny_model(request.param, layers=6), tmp_path / "base", smallest_tokenizer()
    )


def get_loader(manifest):
    options = {"device": "cpu", "attention": "auto"}
    return lambda dtype: load_model(manifest, dtype=dtype, **options).model


def train_and_save(manifest, folder, **changes):
    """Train, save the checkpoint in `folder`, and return the logits of the trained model."""
    load, state = get_loader(manifest), folder.with_name("state")
    trained = train_tiny(state, load=load, max_steps=3, lr_scheduler="constant", **changes)
    keys = make_keys(**changes)
    save_checkpoint(load, trained.parameters, manifest, folder, id="org/base+cpt", keys=keys)
    return compute_logits(trained.model)


@torch.no_grad()
def compute_logits(model):
    return model.eval()(input_ids=IDS, use_cache=False).logits


@pytest.mark.parametrize("keys", [{}, LORA])
def test_checkpoint_loads_anywhere(base, tmp_path, keys):
    expected = train_and_save(base, tmp_path / "trained", **keys)
    assert not torch.allclose(expected, compute_logits(get_loader(base)("float32")), atol=1e-2)
    folder = shutil.move(tmp_path / "trained", tmp_path / "moved")
    shutil.rmtree(base.parent)
    for model in (
        AutoModelForCausalLM.from_pretrained(folder),
        get_loader(folder / "manifest.json")("float32"),
    ):
        assert torch.allclose(compute_logits(model), expected, atol=1e-5)
    assert not describe_damage(folder, read_manifest(folder / "manifest.json"))


def test_weights_keep_base_dtype(base, tmp_path):
    edit_config(base.parent, dtype="bfloat16")
    sealed(base.parent)
    train_and_save(base, tmp_path / "one", **LORA)
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "one")
    assert {p.dtype for p in model.parameters()} == {torch.bfloat16}
