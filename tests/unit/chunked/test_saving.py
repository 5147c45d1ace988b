"""Folders: as the published README prepares them, saved and loaded, sharded, in another process."""

import json

import pytest
import torch
from safetensors import safe_open
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM

import workflow_scripts.chunked  # noqa: F401 (registers the chunked classes)
from tests.processes import python
from tests.tiny_models import FAMILIES, PLAN, base_model, chunked_model, edit_config
from tests.unit.chunked.reference import fresh_ids, reference_logits
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
    base = base_model("qwen2", 6)
    base.save_pretrained(tmp_path)
    edit_config(tmp_path, **PUBLISHED, aggregation_base="residual")
    model, report = AutoModelForCausalLM.from_pretrained(tmp_path, output_loading_info=True)
    assert type(model).__name__ == "Qwen2ChunkingForCausalLM"
    assert not report["unexpected_keys"]
    assert all("wrapped_chunk_layers" in key for key in report["missing_keys"])
    ids = fresh_ids(2, 5)
    # New modules start as the best plain guess: adapters as nothing, the mlp as the residual sum.
    plan = {"num_layers_per_chunk": 3, "chunking_mode": "sequential"}
    plain = chunked_model(base, **plan, aggregation_mode="residual", use_adapters=False)
    assert torch.allclose(model(ids).logits, plain(ids).logits, atol=1e-5)
    assert model.generate(ids, max_new_tokens=3, do_sample=False).shape == (2, 8)
    assert model.generation_config.temperature in (None, 1.0)


@pytest.mark.parametrize("execution", ["fused", "loop"])
@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_an_old_folder_with_an_mlp_computes_the_published_form(family, execution, tmp_path):
    """Its config.json has none of our keys: the mlp's output stands in the stream's place, and adapters
    are as wide as the model's MLP."""
    base = base_model(family, 6)
    plan = {"num_layers_per_chunk": 2, "num_chunks": 2, "aggregation_mode": "mlp"}
    wide = base.config.intermediate_size
    published = chunked_model(base, **plan, aggregation_base="none", adapter_hidden_size=wide)
    published.save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    keys = json.loads(path.read_text())
    ours = {"aggregation_base": "none", "chunk_execution": "fused", "adapter_hidden_size": wide}
    ours |= {"adapter_init": "identity", "distillation_loss": "own"}
    assert {key: keys.pop(key) for key in ours} == ours
    path.write_text(json.dumps(keys))

    model = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert (model.config.adapter_init, model.config.distillation_loss) == ("normal", "published")
    model.config.chunk_execution = execution
    ids = fresh_ids(2, 7)
    expected = reference_logits(base, published, ids)
    assert (model(ids).logits - expected).abs().max() <= 1e-5 * max(1, expected.abs().max())
    edit_config(tmp_path, aggregation_base="residual", adapter_hidden_size=wide)
    with pytest.raises(UserError, match=r"aggregation\.proj\.bias, for which .* has no place"):
        AutoModelForCausalLM.from_pretrained(tmp_path)


@torch.no_grad()
def test_a_fresh_mlp_without_a_base_is_noise_as_published(tmp_path):
    base_model("qwen2", 6).save_pretrained(tmp_path)
    edit_config(tmp_path, **PUBLISHED)
    model = AutoModelForCausalLM.from_pretrained(tmp_path)
    mlp = model.model.wrapped_chunk_layers.aggregation
    deviation = model.config.initializer_range
    for weight in (mlp.proj.weight, mlp.down_proj.weight):
        assert weight.std().item() == pytest.approx(deviation, rel=0.2)


@torch.no_grad()
def test_published_configs_name_two_chunks_in_every_mode(tmp_path):
    base_model("qwen2", 6).save_pretrained(tmp_path)
    edit_config(tmp_path, **PUBLISHED, num_chunks=2, layers_to_prune=None)
    edit_config(tmp_path, num_layers_per_chunk=2)
    assert len(AutoConfig.from_pretrained(tmp_path).plan().chunks) == 3


@pytest.mark.parametrize("shard", ["10KB", "5GB"])
@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_save_and_load(family, shard, tmp_path):
    base = base_model(family, 6)
    model = chunked_model(base, **PLAN)
    ids = fresh_ids(2, 5)
    logits = model(ids).logits  # which lays the weights side by side
    model.save_pretrained(tmp_path, max_shard_size=shard)
    assert (len(list(tmp_path.glob("*.safetensors"))) > 1) == (shard == "10KB")
    again = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert torch.equal(again(ids).logits, logits)
    assert torch.equal(
        AutoModel.from_pretrained(tmp_path)(ids).last_hidden_state,
        model.model(ids).last_hidden_state,
    )
    names = set()
    for file in tmp_path.glob("*.safetensors"):
        with safe_open(file, "pt") as tensors:
            names |= set(tensors.keys())
    assert {n for n in names if "wrapped_chunk_layers" not in n} == set(base.state_dict())


@torch.no_grad()
def test_a_pruned_model_is_smaller_and_comes_back(tmp_path):
    base = base_model("llama", 5)
    base.save_pretrained(tmp_path / "base")
    keys = {"chunking_mode": "prune", "layers_to_prune": [2, 5]}
    edit_config(tmp_path / "base", model_type="llama_chunking", **keys)
    path = tmp_path / "base"
    model, report = AutoModelForCausalLM.from_pretrained(path, output_loading_info=True)
    assert not report["unexpected_keys"] and not report["missing_keys"]
    layer = sum(p.numel() for p in base.model.layers[0].parameters())
    assert model.num_parameters() == base.num_parameters() - 2 * layer
    model.save_pretrained(tmp_path / "pruned")
    again = AutoModelForCausalLM.from_pretrained(tmp_path / "pruned")
    ids = fresh_ids(1, 5)
    assert torch.equal(again(ids).logits, model(ids).logits)


def test_a_fresh_process_needs_one_import_and_no_remote_code(tmp_path):
    base_model("qwen2", 6).save_pretrained(tmp_path)
    edit_config(tmp_path, **PUBLISHED)
    code = (
        "import sys, workflow_scripts.chunked\n"
        "from transformers import AutoModelForCausalLM\n"
        "model = AutoModelForCausalLM.from_pretrained(sys.argv[1], trust_remote_code=False)\n"
        "print(model.generate(max_new_tokens=2, do_sample=False).shape)"
    )
    assert "[1, 3]" in python(code, tmp_path)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"num_layers_per_chunk": 5}, "6 layers cannot be cut into chunks of 5 layers"),
        ({"aggregation_mode": "men"}, "expected one of mlp, mean, last, residual"),
        ({"num_layers_per_chunk": "two"}, "num_layers_per_chunk is 'two'; expected a whole number"),
        ({"temperature": 0}, "temperature is 0; expected a number above 0"),
        ({"chunking_mode": "prune"}, "layers_to_prune is empty"),
        ({"use_adapters": "yes"}, "use_adapters is 'yes'; expected true or false"),
        ({"chunk_execution": "fuse"}, "Did you mean 'fused'?"),
        ({"adapter_init": "identty"}, "Did you mean 'identity'?"),
        ({"distillation_loss": "theirs"}, "distillation_loss is 'theirs'; expected one of own, published"),
        ({"num_layers_per_chunk": 0, "num_chunks": 0, "distillation": True}, "is the unchanged model's"),
        ({"use_sliding_window": True, "max_window_layers": 3, "sliding_window": 4}, "expected full_attention in all"),
    ],
)  # fmt: skip
def test_a_config_that_cannot_be_gets_a_sentence(keys, sentence, tmp_path):
    base_model("qwen2", 6).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config.pop("layer_types", None)
    (tmp_path / "config.json").write_text(json.dumps(config | PUBLISHED | keys))
    with pytest.raises(UserError, match=".*" + sentence.replace("(", r"\(").replace("?", r"\?")):
        AutoModelForCausalLM.from_pretrained(tmp_path)
