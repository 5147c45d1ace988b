"""A delta and its base are added when they are loaded, and the sum is the model that was meant."""

import pytest
import torch

from tests.tiny_models import put_in_hub, tiny_model
from tests.tiny_tokenizers import smallest_tokenizer
from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.load import load_model
from workflow_scripts.hub.manifest import read_manifest

# The files and the modules of the last have other names for the same weights.
KINDS = ("tied", "llama", "gpt2")


def drawn(kind, seed, **changes):
    """Weights that are multiples of 1/64, of which sums and differences are exact."""
    model = tiny_model(kind, attn_implementation="eager", **changes)
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randint(-32, 33, weight.shape, generator=draw) / 64)
    return model


def put(model, folder):
    return put_in_hub(model, folder, smallest_tokenizer(), f"miniature/{folder.name}")


@pytest.fixture(params=KINDS)
def three(request, tmp_path):
    """The model that is meant, and the manifests of delta and base."""
    meant, base, delta = (drawn(request.param, seed) for seed in (1, 2, 3))
    with torch.no_grad():
        for difference, tuned, before in zip(
            delta.parameters(), meant.parameters(), base.parameters(), strict=True
        ):
            difference.copy_(tuned - before)
    return meant, put(delta, tmp_path / "delta"), put(base, tmp_path / "base")


def load(manifest, base, dtype="float32"):
    return load_model(manifest, device="cpu", dtype=dtype, attention="eager", base=base)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_in_every_precision_it_runs_as_the_model_that_was_meant_does(three, tmp_path, dtype):
    """Bit for bit: weights are rounded once, and what is no weight, as the angles of positions, is not."""
    meant, delta, base = three
    found, whole = load(delta, base, dtype), load(put(meant, tmp_path / "meant"), None, dtype)
    for weight, expected in zip(found.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(weight, expected)
    ids = torch.arange(40)[None]
    logits = whole.model(ids).logits
    assert torch.equal(found.model(ids).logits, logits)
    alone = load(delta, None, dtype).model(ids).logits
    assert not torch.allclose(alone, logits), "the base changes nothing, and the test shows nothing"


def test_the_weights_digest_names_both(three):
    _, delta, base = three
    loaded = load(delta, base)
    alone = read_manifest(delta)
    assert (loaded.manifest.repository, loaded.manifest.commit) == (alone.repository, alone.commit)
    assert loaded.manifest.weights_sha256 != alone.weights_sha256
    assert load(delta, delta).manifest.weights_sha256 != loaded.manifest.weights_sha256


def test_models_of_other_shapes_are_not_added(three, tmp_path):
    _, delta, _ = three
    with pytest.raises(
        UserError, match=r"cannot be added to miniature/other: .* differ in name or"
    ):
        load(delta, put(drawn("llama", 4, vocabulary=48), tmp_path / "other"))
