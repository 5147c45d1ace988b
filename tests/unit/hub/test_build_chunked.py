"""Test building chunked checkpoints from hard links, and their layer plans."""

import json

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from tests.tiny_models import base_model, put_in_hub
from tests.tiny_tokenizers import smallest_tokenizer
from tests.unit.chunked.reference import fresh_ids
from workflow_scripts.core.errors import UserError
from workflow_scripts.evaluation.requests import VerifyRequest
from workflow_scripts.evaluation.verify_chunked import verify_chunked
from workflow_scripts.hub.build_chunked import NEW_WEIGHTS, build_chunked
from workflow_scripts.hub.load import load_model
from workflow_scripts.hub.manifest import describe_damage, read_manifest
from workflow_scripts.settings.checkpoint import Checkpoint

COMPUTE = {"device": "cpu", "dtype": "float32", "attention": "auto"}
K2M2 = {"num_layers_per_chunk": 2, "num_chunks": 2}


def make_hub_model(folder, **options):
    base = base_model("qwen2", layers=6)
    return base, put_in_hub(base, folder, smallest_tokenizer(), **options)


def build(manifest, folder, seed=0, **keys):
    checkpoint = Checkpoint(model="org/base", **K2M2 | keys)
    build_chunked(manifest, folder, "org/base@k2m2", checkpoint.keys, seed)
    return folder / "manifest.json"


@pytest.mark.parametrize("shard", ["20KB", "5GB"], ids=["sharded", "one file"])
@torch.no_grad()
def test_build_chunked(tmp_path, shard):
    """A checkpoint loads completely and hard-links the files of its base model."""
    base, manifest = make_hub_model(tmp_path / "base", max_shard_size=shard)
    built = build(manifest, tmp_path / "built")
    _, report = AutoModelForCausalLM.from_pretrained(built.parent, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    model = load_model(built, **COMPUTE).model
    ids = fresh_ids(2, 5)
    plan = {"aggregation_mode": "residual", "use_adapters": False}
    plain = load_model(manifest, **COMPUTE, chunking={**K2M2, **plan}).model
    assert torch.allclose(model(ids).logits, plain(ids).logits, atol=1e-5)
    for file in (tmp_path / "base").glob("*.safetensors"):
        assert file.stat().st_nlink == 2
    sealed = read_manifest(built)
    assert sealed.parameters == model.num_parameters() > base.num_parameters()
    assert sealed.licence == "mit" and describe_damage(built.parent, sealed) == []


def test_build_chunked_refused(model_manifest, tmp_path):
    with pytest.raises(UserError, match="of the type 'gpt_neox'; only qwen2, qwen3, llama"):
        build(model_manifest, tmp_path / "built")
    assert not (tmp_path / "built").exists()


def test_adapter_init(tmp_path):
    """Adapters start as the identity and depend on the seed."""
    _, manifest = make_hub_model(tmp_path / "base")
    keys = {"adapter_init": "identity", "aggregation_mode": "residual"}
    built, again, other = (
        build(manifest, tmp_path / str(n), seed, **keys) for n, seed in enumerate((0, 0, 1))
    )
    assert read_manifest(built) == read_manifest(again)
    assert read_manifest(built).weights_sha256 != read_manifest(other).weights_sha256
    weights = load_file(built.parent / NEW_WEIGHTS)
    assert {"down" in name: bool(weight.any()) for name, weight in weights.items()} == {
        True: False,
        False: True,
    }


def test_verify_chunked(tmp_path):
    def write_report(checkpoint) -> dict:
        request = VerifyRequest(compute=COMPUTE, seed=0).to_params()
        verify_chunked(checkpoint, manifest, request, tmp_path / "report.json")
        return json.loads((tmp_path / "report.json").read_text())

    _, manifest = make_hub_model(tmp_path / "base")
    report = write_report(build(manifest, tmp_path / "built"))
    assert report["plan"] == "0 → [1 3 | 2 4] → 5"
    assert report["depth"] == 4 and report["fused_from_loop"] < 1e-5
    base = AutoModelForCausalLM.from_pretrained(manifest.parent).num_parameters()
    assert report["parameters"] - base == report["new_parameters"] > 0
    same = build(manifest, tmp_path / "same", num_layers_per_chunk=0, num_chunks=0)
    assert write_report(same)["fused_from_base"] == 0
