"""Test preparing model folders as in the published README, and saving and loading them."""

import json

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from safetensors import safe_open
from transformers import AutoModel, AutoModelForCausalLM

import workflow_scripts.chunked  # noqa: F401 (registers the chunked classes)
from tests.tiny_models import PLAN, base_model, chunked_model, edit_config
from tests.unit.chunked.reference import fresh_ids
from workflow_scripts.core.errors import UserError

PUBLISHED = {
    "architectures": ["Qwen2ChunkingForCausalLM"],
    "model_type": "qwen2_chunking",
    "num_layers_per_chunk": 3,
    "chunking_mode": "sequential",
    "aggregation_mode": "mlp",
}


@torch.no_grad()
def test_prepared_folder_residual_sum(tmp_path):
    base = base_model("qwen2", 6)
    base.save_pretrained(tmp_path)
    edit_config(tmp_path, **PUBLISHED, aggregation_base="residual")
    model, report = AutoModelForCausalLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not report["unexpected_keys"]
    assert all("wrapped_chunk_layers" in key for key in report["missing_keys"])
    ids = fresh_ids(2, 5)
    plan = {"num_layers_per_chunk": 3, "chunking_mode": "sequential"}
    plain = chunked_model(base, **plan, aggregation_mode="residual", use_adapters=False)
    assert torch.allclose(model(ids).logits, plain(ids).logits, atol=1e-5)
    assert model.generation_config.temperature in (None, 1.0)


@torch.no_grad()
def test_published_config_noise(tmp_path):
    """The published config has num_chunks=2 in every mode, but only some modes use it."""
    base_model("qwen2", 6).save_pretrained(tmp_path)
    edit_config(tmp_path, **PUBLISHED | {"num_layers_per_chunk": 2}, num_chunks=2)
    model = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert len(model.config.plan().chunks) == 3
    assert (model.config.adapter_init, model.config.distillation_loss) == ("normal", "published")
    mlp = model.model.wrapped_chunk_layers.aggregation
    for weight in (mlp.proj.weight, mlp.down_proj.weight):
        assert weight.std().item() == pytest.approx(model.config.initializer_range, rel=0.2)


@torch.no_grad()
def test_save_and_load(tmp_path):
    base = base_model("qwen3", 6)
    model = chunked_model(base, **PLAN)
    ids = fresh_ids(2, 5)
    logits = model(ids).logits  # fuses the weights
    model.save_pretrained(tmp_path / "chunked", max_shard_size="10KB")
    base.save_pretrained(tmp_path / "base")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "chunked")
    assert torch.equal(loaded(ids).logits, logits)
    bare = AutoModel.from_pretrained(tmp_path / "chunked")
    assert torch.equal(bare(ids).last_hidden_state, model.model(ids).last_hidden_state)
    names = {folder: set() for folder in ("chunked", "base")}
    for file in tmp_path.glob("*/*.safetensors"):
        with safe_open(file, "pt") as tensors:
            names[file.parent.name] |= set(tensors.keys())
    assert {n for n in names["chunked"] if "wrapped_chunk_layers" not in n} == names["base"]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"num_layers_per_chunk": 5}, "6 layers cannot be cut"),
        ({"num_layers_per_chunk": "two"}, "num_layers_per_chunk"),
        ({"use_sliding_window": True, "max_window_layers": 3, "sliding_window": 4}, "layer_types"),
    ],
)
def test_wrong_key_is_named(keys, message, tmp_path):
    base_model("qwen2", 6).save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    del config["layer_types"]
    path.write_text(json.dumps(config | PUBLISHED | keys))
    with pytest.raises((UserError, StrictDataclassError), match=message):
        AutoModelForCausalLM.from_pretrained(tmp_path)
