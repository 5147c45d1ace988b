"""A delta and its base are added when they are loaded, and the sum is the model that was meant."""

import pytest
import torch
from tokenizers import Tokenizer, models
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig, PreTrainedTokenizerFast

from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.load import load_model
from workflow_scripts.hub.manifest import read_manifest, seal

WORDS = {f"w{number}": number for number in range(40)}
LLAMA = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
CONFIGS = {
    "tied": LlamaConfig(vocab_size=40, tie_word_embeddings=True, **LLAMA),
    "not tied": LlamaConfig(vocab_size=40, tie_word_embeddings=False, **LLAMA),
    # Its files and its modules have other names for the same weights.
    "renamed": GPT2Config(vocab_size=40, n_embd=16, n_layer=2, n_head=2, n_positions=64),
}


def drawn(config, seed):
    """Weights that are multiples of 1/64, of which sums and differences are exact."""
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randint(-32, 33, weight.shape, generator=draw) / 64)
    return model


def put(model, folder):
    model.save_pretrained(folder)
    tokenizer = Tokenizer(models.WordLevel(WORDS, unk_token="w0"))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)
    facts = {"kind": "model", "source": "miniature", "repository": f"miniature/{folder.name}"}
    seal(folder, **facts, revision=None, licence="mit")
    return folder / "manifest.json"


@pytest.fixture(params=CONFIGS)
def three(request, tmp_path):
    """The model that is meant, and the manifests of delta and base."""
    config = CONFIGS[request.param]
    meant, base, delta = drawn(config, 1), drawn(config, 2), drawn(config, 3)
    with torch.no_grad():
        for difference, tuned, before in zip(
            delta.parameters(), meant.parameters(), base.parameters(), strict=True
        ):
            difference.copy_(tuned - before)
    return meant, put(delta, tmp_path / "delta"), put(base, tmp_path / "base")


def load(manifest, base, dtype="float32"):
    return load_model(manifest, device="cpu", dtype=dtype, attention="eager", base=base)


def test_the_sum_is_the_model_that_was_meant(three):
    meant, delta, base = three
    loaded = load(delta, base)
    for (name, weight), (_, expected) in zip(
        loaded.model.named_parameters(), meant.named_parameters(), strict=True
    ):
        assert torch.equal(weight, expected), name
    ids = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6]])
    logits = meant(ids).logits
    assert torch.equal(loaded.model(ids).logits, logits)
    alone = load_model(delta, device="cpu", dtype="float32", attention="eager").model(ids).logits
    assert not torch.allclose(alone, logits), "the base changes nothing, and the test shows nothing"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_in_every_precision_it_runs_as_the_model_that_was_meant_does(three, tmp_path, dtype):
    """Bit for bit: weights are rounded once, and what is no weight, as the angles of positions, is not."""
    meant, delta, base = three
    found, whole = load(delta, base, dtype), load(put(meant, tmp_path / "meant"), None, dtype)
    for weight, expected in zip(found.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(weight, expected)
    ids = torch.arange(40)[None]
    assert torch.equal(found.model(ids).logits, whole.model(ids).logits)


def test_the_weights_digest_names_both(three):
    _, delta, base = three
    loaded = load(delta, base)
    alone = read_manifest(delta)
    assert (loaded.manifest.repository, loaded.manifest.commit) == (alone.repository, alone.commit)
    assert loaded.manifest.weights_sha256 != alone.weights_sha256
    assert load(delta, delta).manifest.weights_sha256 != loaded.manifest.weights_sha256


def test_models_of_other_shapes_are_not_added(three, tmp_path):
    _, delta, _ = three
    other = LlamaConfig(vocab_size=48, **LLAMA)
    with pytest.raises(
        UserError, match=r"cannot be added to miniature/other: .* differ in name or"
    ):
        load(delta, put(drawn(other, 4), tmp_path / "other"))
