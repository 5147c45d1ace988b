"""Load folders trained with the published code, under its names of the added weights."""

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

import workflow_scripts.chunked  # noqa: F401 (registers the chunked classes)
from tests.tiny_models import edit_config
from tests.unit.chunked.published import HIDDEN, PLANS, WRAPPER, Published
from tests.unit.chunked.reference import assert_equal, fresh_ids
from workflow_scripts.core.errors import UserError


def assert_computes(model, published):
    ids = fresh_ids(2, 7)
    for execution in ("fused", "loop"):
        model.config.chunk_execution = execution
        with torch.no_grad():
            assert_equal(model(ids).logits, published.compute_logits(ids))


def rewrite(folder, change):
    """Change the tensors of a folder, by their names; those that become None are removed."""
    path = folder / "model.safetensors"
    weights = change(load_file(path))
    weights = {name: weight for name, weight in weights.items() if weight is not None}
    save_file(weights, path, metadata={"format": "pt"})


@pytest.mark.parametrize("mode", PLANS)
@pytest.mark.parametrize(
    ("family", "aggregation", "adapters"),
    [("qwen2", "mlp", True), ("llama", "mean", True), ("qwen2", "last", False)],
)
def test_published_folder(family, aggregation, adapters, mode, tmp_path):
    published = Published(family, mode, aggregation, adapters)
    published.save(tmp_path / "published")
    model, report = AutoModelForCausalLM.from_pretrained(
        tmp_path / "published", output_loading_info=True
    )
    assert not any(report.values())
    assert_computes(model, published)
    model.save_pretrained(tmp_path / "own")
    with safe_open(tmp_path / "own/model.safetensors", "pt") as tensors:
        assert set(tensors.keys()) == set(model.state_dict())
    assert_computes(AutoModelForCausalLM.from_pretrained(tmp_path / "own"), published)


@pytest.mark.parametrize("both", [True, False])
def test_layers_named_twice(both, tmp_path):
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
    ("change", "keys", "message"),
    [
        ({ADAPTER: None}, {}, f"lacks {OWN}.adapters.2.up_proj.weight"),
        ({LAYER: None}, {}, f"lacks {LAYER}"),
        ({STRANGE: torch.zeros(HIDDEN, HIDDEN)}, {}, f"holds {STRANGE}"),
        ({}, {"aggregation_mode": "mean"}, f"holds {OWN}.aggregation.down_proj.weight"),
        ({LINEAR: torch.zeros(HIDDEN, 3 * HIDDEN)}, {}, "size mismatch|mismatched"),
    ],
)
def test_other_weights_are_refused(change, keys, message, tmp_path):
    Published().save(tmp_path)
    edit_config(tmp_path, **keys)
    rewrite(tmp_path, lambda weights: weights | change)
    with pytest.raises((UserError, RuntimeError), match=message):
        AutoModelForCausalLM.from_pretrained(tmp_path)
