"""Attention of packed tries: as the model's own, on tensors without contents, and when the device fails."""

import numpy as np
import pytest
import torch

from tests.tiny_models import tiny_model
from tests.unit.evaluation.drawn import WINDOW, Requests, fresh_seed
from workflow_scripts.evaluation.prefix.attention import TrieAttention
from workflow_scripts.evaluation.prefix.engine import PrefixEngine
from workflow_scripts.evaluation.prefix.trie import build_trie


def test_model_keeps_its_attention():
    model = tiny_model("qwen2")
    before = model(torch.tensor([[1, 2, 3]])).logits
    PrefixEngine(model).loglikelihoods(Requests(0).mixed(), window=WINDOW)
    assert model.config._attn_implementation == "sdpa"
    assert torch.equal(model(torch.tensor([[1, 2, 3]])).logits, before)


def build_attention(device: str, seed: int = 0):
    """Build the attention of the last half of a trie."""
    trie, _ = build_trie(Requests(seed).contexts())
    start = len(trie) // 2
    nodes = np.flatnonzero(trie.ends[:start] > start)
    nodes = np.concatenate([nodes, np.arange(start, len(trie))])
    return len(nodes), len(trie) - start, TrieAttention(trie, nodes, len(trie) - start, device)


@pytest.mark.parametrize("window", [None, 4])
@pytest.mark.parametrize("flash", [False, True])
def test_shapes_without_contents(flash, window):
    keys, rows, attention = build_attention("meta")
    query = torch.empty(1, 4, rows, 64, dtype=torch.bfloat16, device="meta")
    key, value = torch.empty(2, 1, 2, keys, 64, dtype=torch.bfloat16, device="meta")
    if flash:
        output = attention.attend_varlen(query, key, value, 0.3, window)
    else:
        output = attention.attend(query, key, value, scale=0.3, softcap=None, window=window)
    assert output.shape == query.shape


@pytest.mark.gpus(1)
@pytest.mark.parametrize("window", [None, 4])
def test_flash_attention_equals_masks(window):
    keys, rows, attention = build_attention("cuda", fresh_seed())
    query = torch.randn(1, 4, rows, 64, dtype=torch.bfloat16, device="cuda")
    key, value = torch.randn(2, 1, 2, keys, 64, dtype=torch.bfloat16, device="cuda")
    output = attention.attend_varlen(query, key, value, 0.3, window)
    options = {"scale": 0.3, "softcap": None, "window": window}
    expected = attention.attend(query.float(), key.float(), value.float(), **options)
    torch.testing.assert_close(output.float(), expected, atol=3e-2, rtol=3e-2)


@pytest.mark.parametrize("error", [torch.OutOfMemoryError, torch.AcceleratorError])
def test_device_error_while_probing_is_raised(error):
    def fail(_, args, kwargs):
        if "past_key_values" in kwargs:
            raise error("CUDA error: an illegal memory access was encountered")

    model = tiny_model("qwen2")
    model.register_forward_pre_hook(fail, with_kwargs=True)
    with pytest.raises(error, match="illegal"):
        PrefixEngine(model)
