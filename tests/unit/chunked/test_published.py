"""Test loading models trained with the published code, which names the added weights differently."""

import pytest
import torch
from safetensors import safe_open
from transformers import AutoModelForCausalLM

import workflow_scripts.chunked  # noqa: F401 (registers the chunked classes)
from tests.tiny_models import edit_config
from tests.unit.chunked.published import PLANS, WRAPPER, rewrite, save_published
from tests.unit.chunked.reference import assert_equal, compute_reference_logits, fresh_ids
from workflow_scripts.core.errors import UserError


def assert_computes(folder, base, published):
    model, report = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
    assert not any(report.values())
    ids = fresh_ids(2, 7)
    with torch.no_grad():
        assert_equal(model(ids).logits, compute_reference_logits(base, published, ids))
    return model


@pytest.mark.parametrize("mode", PLANS)
@pytest.mark.parametrize(
    ("family", "aggregation", "adapters"),
    [("qwen2", "mlp", True), ("llama", "mean", True), ("qwen2", "last", False)],
)
def test_published_folder(family, aggregation, adapters, mode, tmp_path):
    keys = {"aggregation_mode": aggregation, "use_adapters": adapters}
    models = save_published(tmp_path / "published", family, mode, **keys)
    model = assert_computes(tmp_path / "published", *models)
    model.save_pretrained(tmp_path / "own")
    with safe_open(tmp_path / "own/model.safetensors", "pt") as tensors:
        assert set(tensors.keys()) == set(model.state_dict())
    assert_computes(tmp_path / "own", *models)


@pytest.mark.parametrize("both", [True, False])
def test_layers_named_twice(both, tmp_path):
    """The published code also saves the layers of consecutive chunks under module names of the chunk."""
    mode = "sequential_with_shared_start_and_end"
    models = save_published(tmp_path, mode=mode)

    def name_twice(weights):
        for chunk, numbers in enumerate(PLANS[mode]):
            for depth, number in enumerate(numbers):
                own = f"model.layers.{number}."
                second = f"{WRAPPER}.chunk_layers_{chunk}.layers.{depth}."
                for name in [name for name in weights if name.startswith(own)]:
                    weights[name.replace(own, second)] = weights[name].clone()
                    if not both:
                        del weights[name]
        return weights

    rewrite(tmp_path, name_twice)
    assert_computes(tmp_path, *models)


LINEAR = f"{WRAPPER}.aggregation_head.linear.weight"
ADAPTER = f"{WRAPPER}.chunk_layers_1.adapter_0.up_proj.weight"
STRANGE, LAYER = "model.chunk_start_adapter_0.weight", "model.layers.3.mlp.down_proj.weight"


@pytest.mark.parametrize(
    ("change", "keys", "message"),
    [
        ({ADAPTER: None}, {}, f"lacks {WRAPPER}.adapters.2.up_proj.weight"),
        ({LAYER: None}, {}, f"lacks {LAYER}"),
        ({STRANGE: torch.zeros(32, 32)}, {}, f"holds {STRANGE}"),
        ({}, {"aggregation_mode": "mean"}, f"holds {WRAPPER}.aggregation.down_proj.weight"),
        ({LINEAR: torch.zeros(32, 96)}, {}, "size mismatch|mismatched"),
    ],
)
def test_other_weights_are_refused(change, keys, message, tmp_path):
    save_published(tmp_path)
    edit_config(tmp_path, **keys)
    rewrite(tmp_path, lambda weights: weights | change)
    with pytest.raises((UserError, RuntimeError), match=message):
        AutoModelForCausalLM.from_pretrained(tmp_path)
