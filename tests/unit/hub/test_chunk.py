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


@pytest.mark.parametrize("shard", ["20KB", "5GB"], ids=["sharded", "one file"])
@torch.no_grad()
def test_it_loads_whole_and_shares_its_base_on_disk(tmp_path, shard):
    base, manifest = hub_model(tmp_path / "base", max_shard_size=shard)
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
    assert read_manifest(built).parameters == model.num_parameters()
    assert read_manifest(built).licence == "mit"
    assert verify(built.parent, read_manifest(built)) == []
    assert base.num_parameters() < model.num_parameters()


def test_the_same_settings_give_the_same_bytes_and_another_seed_others(tmp_path):
    _, manifest = hub_model(tmp_path / "base")
    first, again = (read_manifest(build(manifest, tmp_path / name)) for name in ("a", "b"))
    assert first == again
    other = read_manifest(build(manifest, tmp_path / "c", seed=1))
    assert other.weights_sha256 != first.weights_sha256


@pytest.mark.parametrize(
    "keys",
    [
        {"num_layers_per_chunk": 0, "num_chunks": 0},
        {"aggregation_mode": "mean", "use_adapters": False},
        {"mode": "prune", "layers_to_prune": [2, 3]},
    ],
    ids=["unchanged", "nothing new", "pruned"],
)
def test_plans_without_new_weights_have_no_file_of_them(tmp_path, keys):
    _, manifest = hub_model(tmp_path / "base")
    built = build(manifest, tmp_path / "built", **keys)
    assert not (built.parent / NEW_WEIGHTS).exists()
    _, report = AutoModelForCausalLM.from_pretrained(built.parent, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]


def test_no_weight_of_the_base_is_read(tmp_path, monkeypatch):
    """What is linked must not be loaded: a 14B model is cut into chunks in the memory of none."""
    _, manifest = hub_model(tmp_path / "base")

    def refuse(*_args, **_kwargs):
        raise AssertionError("a weight was read")

    monkeypatch.setattr("safetensors.torch.load_file", refuse)
    monkeypatch.setattr("transformers.PreTrainedModel.from_pretrained", refuse)
    build(manifest, tmp_path / "built")


def test_architectures_that_cannot_be_cut_get_a_sentence(world, tmp_path):
    pythia = world / "models/miniature/Pythia-0.1M/manifest.json"
    with pytest.raises(UserError, match="of the type 'gpt_neox'; only qwen2, qwen3, llama"):
        build(pythia, tmp_path / "built")
    assert not (tmp_path / "built").exists()


def test_a_damaged_base_is_refused(tmp_path):
    _, manifest = hub_model(tmp_path / "base")
    (tmp_path / "base" / "model.safetensors").write_bytes(b"cut off")
    with pytest.raises(UserError, match=r"model\.safetensors has 7 bytes"):
        build(manifest, tmp_path / "built")


def test_adapters_of_the_usual_width_are_no_other_model(tmp_path):
    base, manifest = hub_model(tmp_path / "base")
    width = base.config.hidden_size
    with pytest.raises(UserError, match=f"adapter_hidden_size of .* is {width}.*expected null"):
        build(manifest, tmp_path / "built", adapter_hidden_size=width)
    assert not (tmp_path / "built").exists()
    build(manifest, tmp_path / "other", adapter_hidden_size=width - 1)
    build(manifest, tmp_path / "none", adapter_hidden_size=width, use_adapters=False)


@pytest.mark.parametrize("init", ["identity", "normal"])
def test_adapters_start_as_asked_and_are_drawn_from_the_seed(tmp_path, init):
    base, manifest = hub_model(tmp_path / "base")
    keys = {"adapter_hidden_size": 2000, "adapter_init": init, "aggregation_mode": "residual"}
    built = build(manifest, tmp_path / "built", **keys)
    again = build(manifest, tmp_path / "again", **keys)
    other = build(manifest, tmp_path / "other", seed=1, **keys)
    first, second, third = (read_manifest(one).weights_sha256 for one in (built, again, other))
    assert first == second != third
    assert json.loads((built.parent / "config.json").read_text())["adapter_init"] == init

    drawn = load_file(built.parent / NEW_WEIGHTS)
    normal = stats.norm(scale=base.config.initializer_range)
    assert len(drawn) == 2 * 4 and all(name.endswith(".weight") for name in drawn)
    for name, weight in drawn.items():
        if "down" in name and init == "identity":
            assert not weight.any()
        else:
            assert stats.kstest(weight.flatten().numpy(), normal.cdf).statistic < 0.01

    ids = fresh_ids(2, 5)
    plan = {**K2M2, "aggregation_mode": "residual", "use_adapters": False}
    with torch.no_grad():
        ours = load_model(built, **COMPUTE).model(ids).logits
        plain = load_model(manifest, **COMPUTE, chunking=plan).model(ids).logits
    assert torch.allclose(ours, plain, atol=1e-5) == (init == "identity")


def test_parity_reports_the_plan_and_holds_it_to_its_word(tmp_path):
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


def test_config_says_all_of_it(tmp_path):
    _, manifest = hub_model(tmp_path / "base")
    built = build(manifest, tmp_path / "built", aggregation_mode="last", temperature=3.0)
    config = json.loads((built.parent / "config.json").read_text())
    assert config["model_type"] == "qwen2_chunking"
    assert config["architectures"] == ["Qwen2ChunkingForCausalLM"]
    assert (config["aggregation_mode"], config["temperature"]) == ("last", 3.0)
    assert config["aggregation_base"] == "residual"  # without the key it would be another model
