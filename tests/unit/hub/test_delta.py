"""Test that loading delta weights with their base gives the full model."""

import pytest
import torch

from tests.tiny_models import make_tiny_model, put_in_hub
from tests.tiny_tokenizers import smallest_tokenizer
from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.load import load_model
from workflow_scripts.hub.manifest import read_manifest


def make_model(kind, seed, **changes):
    """Draw weights that are multiples of 1/64, so that sums and differences are exact."""
    model = make_tiny_model(kind, attn_implementation="eager", **changes)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randint(-32, 33, weight.shape, generator=generator) / 64)
    return model


# GPT-2's weights have different names in files and in modules.
@pytest.mark.parametrize(("kind", "dtype"), [("tied", "bfloat16"), ("gpt2", "float32")])
@torch.no_grad()
def test_load_delta(kind, dtype, tmp_path):
    """Compare bit for bit: weights are rounded once, and buffers such as rotary frequencies are not rounded."""
    models = {name: make_model(kind, seed) for seed, name in enumerate(["whole", "base", "delta"])}
    for difference, weight, before in zip(
        *(models[name].parameters() for name in ("delta", "whole", "base")), strict=True
    ):
        difference.copy_(weight - before)
    models["other"] = make_model("llama", 4, vocabulary=48)
    paths = {
        name: put_in_hub(model, tmp_path / name, smallest_tokenizer(), f"miniature/{name}")
        for name, model in models.items()
    }

    def load(name, base=None):
        base = paths.get(base)
        return load_model(paths[name], device="cpu", dtype=dtype, attention="eager", base=base)

    loaded, whole = load("delta", "base"), load("whole")
    for weight, exact in zip(loaded.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(weight, exact)
    ids = torch.arange(40)[None]
    assert torch.equal(loaded.model(ids).logits, whole.model(ids).logits)
    assert loaded.manifest.weights_sha256 != read_manifest(paths["delta"]).weights_sha256
    with pytest.raises(UserError, match="cannot be added to miniature/other"):
        load("delta", "other")
