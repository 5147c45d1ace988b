"""Chunked checkpoints are built by linking, and are what the plan says."""

import json

import pytest
import torch
from safetensors.torch import load_file
from scipy import stats
from transformers import AutoModelForCausalLM

from tests.tiny_models import base_model, put_in_hub
from tests.tiny_tokenizers import smallest_tokenizer
from tests.unit.chunked.reference import fresh_ids
from workflow_scripts.core.errors import UserError
from workflow_scripts.evaluation.parity import parity
from workflow_scripts.evaluation.requests import VerifyRequest
from workflow_scripts.hub.chunk import NEW_WEIGHTS, build_chunked
from workflow_scripts.hub.load import load_model
from workflow_scripts.hub.manifest import read_manifest, verify
from workflow_scripts.hub.requests import BuildRequest
from workflow_scripts.settings.checkpoint import Checkpoint

COMPUTE = {"device": "cpu", "dtype": "float32", "attention": "auto"}
VERIFY = VerifyRequest(compute=COMPUTE, seed=0)
K2M2 = {"num_layers_per_chunk": 2, "num_chunks": 2}


def hub_model(folder, layers=6, **options):
    base = base_model("qwen2", layers)
    return base, put_in_hub(base, folder, smallest_tokenizer(), **options)


def build(manifest, folder, seed=0, **keys):
    checkpoint = Checkpoint(model="org/base", **K2M2 | keys)
    asked = BuildRequest(id="org/base@k2m2", checkpoint=checkpoint, seed=seed)
    build_chunked(manifest, folder, asked)
    return folder / "manifest.json"


def load_whole(manifest):
    _, report = AutoModelForCausalLM.from_pretrained(manifest.parent, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]


@pytest.mark.parametrize("shard", ["20KB", "5GB"], ids=["sharded", "one file"])
@torch.no_grad()
def test_build_chunked(tmp_path, monkeypatch, shard):
    """A checkpoint loads whole and shares its base on disk, and no weight of the base is read to make it."""
    base, manifest = hub_model(tmp_path / "base", max_shard_size=shard)

    def refuse(*_args, **_kwargs):
        raise AssertionError("a weight was read")

    with monkeypatch.context() as patch:
        patch.setattr("safetensors.torch.load_file", refuse)
        patch.setattr("transformers.PreTrainedModel.from_pretrained", refuse)
        built = build(manifest, tmp_path / "built")
    load_whole(built)
    model = load_model(built, **COMPUTE).model
    ids = fresh_ids(2, 5)
    plan = {"aggregation_mode": "residual", "use_adapters": False}
    plain = load_model(manifest, **COMPUTE, chunking={**K2M2, **plan}).model
    assert torch.allclose(model(ids).logits, plain(ids).logits, atol=1e-5)

    for file in (tmp_path / "base").glob("*.safetensors"):
        assert file.stat().st_nlink == 2
    sealed = read_manifest(built)
    assert sealed.parameters == model.num_parameters() > base.num_parameters()
    assert sealed.licence == "mit" and verify(built.parent, sealed) == []


@pytest.mark.parametrize(
    "keys",
    [
        {"num_layers_per_chunk": 0, "num_chunks": 0},
        {"aggregation_mode": "mean", "use_adapters": False},
        {"mode": "prune", "layers_to_prune": [2, 3]},
    ],
)
def test_build_chunked_without_new_weights(tmp_path, keys):
    _, manifest = hub_model(tmp_path / "base")
    built = build(manifest, tmp_path / "built", **keys)
    assert not (built.parent / NEW_WEIGHTS).exists()
    load_whole(built)


def test_build_chunked_refused(world, tmp_path):
    pythia = world / "models/miniature/Pythia-0.1M/manifest.json"
    with pytest.raises(UserError, match="of the type 'gpt_neox'; only qwen2, qwen3, llama"):
        build(pythia, tmp_path / "built")
    base, manifest = hub_model(tmp_path / "base")
    width = base.config.hidden_size
    with pytest.raises(UserError, match=f"adapter_hidden_size of .* is {width}.*expected null"):
        build(manifest, tmp_path / "built", adapter_hidden_size=width)
    build(manifest, tmp_path / "none", adapter_hidden_size=width, use_adapters=False)
    (tmp_path / "base" / "model.safetensors").write_bytes(b"cut off")
    with pytest.raises(UserError, match=r"model\.safetensors has 7 bytes"):
        build(manifest, tmp_path / "built")
    assert not (tmp_path / "built").exists()


@pytest.mark.parametrize("init", ["identity", "normal"])
def test_adapter_init(tmp_path, init):
    """Adapters start as asked and are drawn from the seed; the config says all of it."""
    base, manifest = hub_model(tmp_path / "base")
    keys = {"adapter_hidden_size": 2000, "adapter_init": init, "aggregation_mode": "residual"}
    built = build(manifest, tmp_path / "built", **keys)
    again = build(manifest, tmp_path / "again", **keys)
    other = build(manifest, tmp_path / "other", seed=1, **keys)
    assert read_manifest(built) == read_manifest(again)
    assert read_manifest(built).weights_sha256 != read_manifest(other).weights_sha256
    config = json.loads((built.parent / "config.json").read_text())
    assert config["architectures"] == ["Qwen2ChunkingForCausalLM"]
    names = ("model_type", "adapter_init", "aggregation_mode", "aggregation_base")
    expected = ["qwen2_chunking", init, "residual", "residual"]
    assert [config[name] for name in names] == expected

    drawn = load_file(built.parent / NEW_WEIGHTS)
    normal = stats.norm(scale=base.config.initializer_range)
    assert len(drawn) == 2 * 4 and all(name.endswith(".weight") for name in drawn)
    for name, weight in drawn.items():
        if "down" in name and init == "identity":
            assert not weight.any()
        else:
            assert stats.kstest(weight.flatten().numpy(), normal.cdf).statistic < 0.01


def test_parity(tmp_path):
    _, manifest = hub_model(tmp_path / "base")
    report = parity(build(manifest, tmp_path / "built"), manifest, VERIFY)
    assert report["plan"] == "0 → [1 3 | 2 4] → 5"
    assert report["depth"] == 4 and report["fused_from_loop"] < 1e-5
    assert report["parameters"] - report["base_parameters"] == report["new_parameters"] > 0

    same = build(manifest, tmp_path / "same", num_layers_per_chunk=0, num_chunks=0)
    assert parity(same, manifest, VERIFY)["fused_from_base"] == 0

    _, other = hub_model(tmp_path / "other")
    with pytest.raises(UserError, match="unchanged plan, but its logits differ"):
        parity(same, other, VERIFY)
