"""Other people's folders: trained with the published code, under its names for what chunking adds."""

import json

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

import workflow_scripts.chunked  # noqa: F401 (registers the chunked classes)
from tests.tiny_models import edit_config
from tests.unit.chunked.published import HIDDEN, INNER, PLANS, WRAPPER, Published
from tests.unit.chunked.reference import assert_equal, fresh_ids
from workflow_scripts.core.errors import UserError


def assert_computes(model, published):
    ids = fresh_ids(2, 7)
    for execution in ("fused", "loop"):
        model.config.chunk_execution = execution
        with torch.no_grad():
            assert_equal(model(ids).logits, published.logits(ids))


def rewrite(folder, change):
    """Change the tensors of a folder, by their names; those that become None go."""
    path = folder / "model.safetensors"
    weights = change(load_file(path))
    weights = {name: weight for name, weight in weights.items() if weight is not None}
    save_file(weights, path, metadata={"format": "pt"})


@pytest.mark.parametrize("adapters", [True, False], ids=["adapters", "no adapters"])
@pytest.mark.parametrize("aggregation", ["mlp", "mean", "last"])
@pytest.mark.parametrize("mode", PLANS)
@pytest.mark.parametrize("family", ["qwen2", "llama"])
def test_a_published_folder_computes_the_form_written_out(
    family, mode, aggregation, adapters, tmp_path
):
    published = Published(family, mode, aggregation, adapters)
    published.save(tmp_path)
    model, report = AutoModelForCausalLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report.values())
    assert_computes(model, published)


def test_what_is_loaded_is_saved_under_the_models_own_names(tmp_path):
    published = Published()
    model = AutoModelForCausalLM.from_pretrained(published.save(tmp_path / "theirs"))
    model.save_pretrained(tmp_path / "ours")
    with safe_open(tmp_path / "ours/model.safetensors", "pt") as tensors:
        assert set(tensors.keys()) == set(model.state_dict())
    assert json.loads((tmp_path / "ours/config.json").read_text())["adapter_hidden_size"] == INNER
    assert_computes(AutoModelForCausalLM.from_pretrained(tmp_path / "ours"), published)


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "module._orig_mod."])
def test_what_torch_puts_around_a_model_is_no_part_of_its_names(prefix, tmp_path):
    published = Published()
    published.save(tmp_path)
    rewrite(tmp_path, lambda weights: {prefix + name: w for name, w in weights.items()})
    assert_computes(AutoModelForCausalLM.from_pretrained(tmp_path), published)


@pytest.mark.parametrize("both", [True, False], ids=["both names", "the second alone"])
def test_layers_that_the_published_code_names_twice(both, tmp_path):
    """Chunks of consecutive layers are modules of their own there."""
    published = Published(mode="sequential_with_shared_start_and_end")
    published.save(tmp_path)
    _, chunks, _ = PLANS[published.mode]

    def name_twice(weights):
        for chunk, numbers in enumerate(chunks):
            for place, number in enumerate(numbers):
                own = f"model.layers.{number}."
                second = f"{WRAPPER}.chunk_layers_{chunk}.layers.{place}."
                for name in [name for name in weights if name.startswith(own)]:
                    weights[name.replace(own, second)] = weights[name].clone()
                    if not both:
                        del weights[name]
        return weights

    rewrite(tmp_path, name_twice)
    assert_computes(AutoModelForCausalLM.from_pretrained(tmp_path), published)


OWN = "model.wrapped_chunk_layers"
LINEAR = f"{WRAPPER}.aggregation_head.linear.weight"
ADAPTER = f"{WRAPPER}.chunk_layers_1.adapter_0.up_proj.weight"
STRANGE, LAYER = "model.chunk_start_adapter_0.weight", "model.layers.3.mlp.down_proj.weight"


@pytest.mark.parametrize(
    ("change", "keys", "sentence"),
    [
        ({ADAPTER: None}, {}, f"FOLDER lacks {OWN}.adapters.2.up_proj.weight"),
        ({LINEAR: None}, {}, f"FOLDER lacks {OWN}.aggregation.proj.weight"),
        ({LAYER: None}, {}, f"FOLDER lacks {LAYER}"),
        ({STRANGE: torch.zeros(HIDDEN, HIDDEN)}, {}, f"FOLDER holds {STRANGE}"),
        ({}, {"aggregation_mode": "mean"}, f"FOLDER holds {OWN}.aggregation.down_proj.weight"),
        ({LINEAR: torch.zeros(HIDDEN, 3 * HIDDEN)}, {}, "size mismatch|mismatched"),
    ],
)
def test_folder_with_other_weights_is_refused(change, keys, sentence, tmp_path):
    published = Published()
    published.save(tmp_path)
    edit_config(tmp_path, **keys)
    rewrite(tmp_path, lambda weights: weights | change)
    with pytest.raises((UserError, RuntimeError), match=sentence.replace("FOLDER", str(tmp_path))):
        AutoModelForCausalLM.from_pretrained(tmp_path)
