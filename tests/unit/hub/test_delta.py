"""A delta and its base are added when they are loaded."""

import pytest
import torch

from tests.tiny_models import put_in_hub, tiny_model
from tests.tiny_tokenizers import smallest_tokenizer
from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.load import load_model
from workflow_scripts.hub.manifest import read_manifest


def make_model(kind, seed, **changes):
    """Draw weights that are multiples of 1/64, of which sums and differences are exact."""
    model = tiny_model(kind, attn_implementation="eager", **changes)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randint(-32, 33, weight.shape, generator=generator) / 64)
    return model


# Files and modules of the last have different names for the same weights.
@pytest.mark.parametrize("kind", ["tied", "gpt2"])
def test_load_delta(kind, tmp_path):
    """Bit for bit: weights are rounded once, and buffers such as rotary angles are not rounded."""

    def put(model, name):
        return put_in_hub(model, tmp_path / name, smallest_tokenizer(), f"miniature/{name}")

    def load(manifest, base=None):
        options = {"device": "cpu", "dtype": "bfloat16", "attention": "eager"}
        return load_model(manifest, base=base, **options)

    expected, base, delta = (make_model(kind, seed) for seed in (1, 2, 3))
    with torch.no_grad():
        for difference, weight, before in zip(
            delta.parameters(), expected.parameters(), base.parameters(), strict=True
        ):
            difference.copy_(weight - before)
    delta = put(delta, "delta")
    loaded = load(delta, put(base, "base"))
    whole = load(put(expected, "expected"))
    for weight, exact in zip(loaded.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(weight, exact)
    ids = torch.arange(40)[None]
    assert torch.equal(loaded.model(ids).logits, whole.model(ids).logits)
    manifest = read_manifest(delta)
    assert loaded.manifest.commit == manifest.commit
    assert loaded.manifest.weights_sha256 != manifest.weights_sha256
    with pytest.raises(UserError, match="cannot be added to miniature/other"):
        load(delta, put(make_model("llama", 4, vocabulary=48), "other"))
