"""Folders: as the published README prepares them, saved and loaded, sharded, in another process."""

import json

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError
from safetensors import safe_open
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM

import workflow_scripts.chunked  # noqa: F401 (registers the chunked classes)
from tests.processes import python
from tests.tiny_models import PLAN, base_model, chunked_model, edit_config, tiny_model
from tests.unit.chunked.reference import assert_equal, fresh_ids, reference_logits
from workflow_scripts.core.errors import UserError

PUBLISHED = {
    "architectures": ["Qwen2ChunkingForCausalLM"],
    "model_type": "qwen2_chunking",
    "num_layers_per_chunk": 3,
    "chunking_mode": "sequential",
    "aggregation_mode": "mlp",
}


@torch.no_grad()
def test_a_folder_prepared_as_published_loads_and_runs(tmp_path):
    """New modules start as the best plain guess: adapters as nothing, the mlp as the residual sum."""
    base = base_model("qwen2", 6)
    base.save_pretrained(tmp_path)
    edit_config(tmp_path, **PUBLISHED, aggregation_base="residual")
    code = (
        "import sys, workflow_scripts.chunked\n"
        "from transformers import AutoModelForCausalLM\n"
        "model = AutoModelForCausalLM.from_pretrained(sys.argv[1], trust_remote_code=False)\n"
        "print(model.generate(max_new_tokens=2, do_sample=False).shape)"
    )
    assert "[1, 3]" in python(code, tmp_path)
    model, report = AutoModelForCausalLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not report["unexpected_keys"]
    assert all("wrapped_chunk_layers" in key for key in report["missing_keys"])
    ids = fresh_ids(2, 5)
    plan = {"num_layers_per_chunk": 3, "chunking_mode": "sequential"}
    plain = chunked_model(base, **plan, aggregation_mode="residual", use_adapters=False)
    assert torch.allclose(model(ids).logits, plain(ids).logits, atol=1e-5)
    assert model.generation_config.temperature in (None, 1.0)


@pytest.mark.parametrize("family", ["qwen2", "llama"])
@torch.no_grad()
def test_an_old_folder_with_an_mlp_computes_the_published_form(family, tmp_path):
    """Its config.json has none of our keys: the mlp's output stands in the stream's place, and adapters
    are as wide as the model's MLP."""
    base = base_model(family, 6)
    width = base.config.intermediate_size
    published = chunked_model(
        base, **PLAN | {"adapter_hidden_size": width}, aggregation_base="none"
    )
    published.save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    keys = json.loads(path.read_text())
    for key in ("aggregation_base", "chunk_execution", "adapter_hidden_size", "adapter_init"):
        del keys[key]
    del keys["distillation_loss"]
    path.write_text(json.dumps(keys | {"num_chunks": 2}))
    model = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert (model.config.adapter_init, model.config.distillation_loss) == ("normal", "published")
    ids = fresh_ids(2, 7)
    assert_equal(model(ids).logits, reference_logits(base, published, ids))
    edit_config(tmp_path, aggregation_base="residual", adapter_hidden_size=width)
    with pytest.raises(UserError, match=r"aggregation\.proj\.bias"):
        AutoModelForCausalLM.from_pretrained(tmp_path)


@torch.no_grad()
def test_published_config_makes_a_noisy_mlp_and_names_two_chunks_in_every_mode(tmp_path):
    base_model("qwen2", 6).save_pretrained(tmp_path)
    edit_config(tmp_path, **PUBLISHED | {"num_layers_per_chunk": 2}, num_chunks=2)
    assert len(AutoConfig.from_pretrained(tmp_path).plan().chunks) == 3
    model = AutoModelForCausalLM.from_pretrained(tmp_path)
    mlp = model.model.wrapped_chunk_layers.aggregation
    for weight in (mlp.proj.weight, mlp.down_proj.weight):
        assert weight.std().item() == pytest.approx(model.config.initializer_range, rel=0.2)


@pytest.mark.parametrize("shard", ["10KB", "5GB"])
@pytest.mark.parametrize("kind", ["qwen3", "mixtral", "qwen3_moe"])
@torch.no_grad()
def test_save_and_load(kind, shard, tmp_path):
    base = tiny_model(kind, layers=6, seed=None)
    model = chunked_model(base, **PLAN)
    ids = fresh_ids(2, 5)
    logits = model(ids).logits  # which lays the weights side by side
    model.save_pretrained(tmp_path / "chunked", max_shard_size=shard)
    base.save_pretrained(tmp_path / "base")
    assert torch.equal(
        AutoModelForCausalLM.from_pretrained(tmp_path / "chunked")(ids).logits, logits
    )
    bare = AutoModel.from_pretrained(tmp_path / "chunked")
    assert torch.equal(bare(ids).last_hidden_state, model.model(ids).last_hidden_state)
    names = {folder: set() for folder in ("chunked", "base")}
    for file in tmp_path.glob("*/*.safetensors"):
        with safe_open(file, "pt") as tensors:
            names[file.parent.name] |= set(tensors.keys())
    assert {n for n in names["chunked"] if "wrapped_chunk_layers" not in n} == names["base"]


@torch.no_grad()
def test_a_pruned_model_is_smaller_and_comes_back(tmp_path):
    base = base_model("llama", 5)
    base.save_pretrained(tmp_path / "base")
    keys = {"chunking_mode": "prune", "layers_to_prune": [2, 5]}
    edit_config(tmp_path / "base", model_type="llama_chunking", **keys)
    model, report = AutoModelForCausalLM.from_pretrained(
        tmp_path / "base", output_loading_info=True
    )
    assert not report["unexpected_keys"] and not report["missing_keys"]
    layer = sum(p.numel() for p in base.model.layers[0].parameters())
    assert model.num_parameters() == base.num_parameters() - 2 * layer
    model.save_pretrained(tmp_path / "pruned")
    again = AutoModelForCausalLM.from_pretrained(tmp_path / "pruned")
    ids = fresh_ids(1, 5)
    assert torch.equal(again(ids).logits, model(ids).logits)


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"num_layers_per_chunk": 5}, "6 layers cannot be cut into chunks of 5 layers"),
        ({"aggregation_mode": "men"}, "aggregation_mode"),
        ({"num_layers_per_chunk": "two"}, "num_layers_per_chunk"),
        ({"use_adapters": "yes"}, "use_adapters"),
        ({"chunk_execution": "fuse"}, "chunk_execution"),
        ({"use_sliding_window": True, "max_window_layers": 3, "sliding_window": 4}, "layer_types"),
    ],
)
def test_a_wrong_key_is_named(keys, named, tmp_path):
    base_model("qwen2", 6).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config.pop("layer_types", None)
    (tmp_path / "config.json").write_text(json.dumps(config | PUBLISHED | keys))
    with pytest.raises((UserError, StrictDataclassError), match=named):
        AutoModelForCausalLM.from_pretrained(tmp_path)
