"""Compare the engine's log-likelihoods with scoring one sequence at a time."""

import numpy as np
import pytest
import torch

from tests.tiny_models import make_tiny_model
from tests.unit.evaluation.random_requests import (
    WINDOW,
    CachelessModel,
    RandomRequests,
    compute_plain_score,
    fresh_seed,
)
from workflow_scripts.evaluation.prefix.attention import TrieAttention
from workflow_scripts.evaluation.prefix.engine import PrefixEngine
from workflow_scripts.evaluation.prefix.trie import build_trie

# Every architecture of config/models.tsv (Yi is a Llama), sliding windows in all or some layers, and variants.
KINDS = (
    *("gpt2", "gpt_neox", "llama", "qwen1.5", "qwen2", "qwen3", "gemma", "gemma2"),
    *("windowed", "some_windowed", "peft", "eager", "pruned"),
)


def assert_same(scores, expected, tolerance: float = 1e-4) -> None:
    assert [value for value, _ in scores] == pytest.approx([v for v, _ in expected], abs=tolerance)
    assert [greedy for _, greedy in scores] == [greedy for _, greedy in expected]


@pytest.mark.parametrize("kind", KINDS)
def test_scores_equal_plain(kind):
    """Scores do not depend on the batch size or the order of requests."""
    model = make_tiny_model(kind)
    requests = RandomRequests(fresh_seed()).draw_requests()
    # Add greedy answers, so that some greedy flags are true.
    for context, _ in requests[:6]:
        best = model(torch.tensor([context])).logits[0, -1].argmax().item()
        requests.append((context, [best]))
    requests.append((list(range(1, 60)) * 4, [3]))  # longer than the window
    expected = [compute_plain_score(model, *request) for request in requests]
    assert any(greedy for _, greedy in expected)
    before = model.config._attn_implementation
    for tokens_per_call in (512, 16):
        engine = PrefixEngine(model)
        engine.tokens_per_call = tokens_per_call
        assert engine.description == "prefix sharing"
        assert_same(engine.loglikelihoods(requests, window=WINDOW), expected)
        assert engine.model.tokens_run == engine.tokens
    assert model.config._attn_implementation == before


def test_plain_batches_equal_plain():
    model = CachelessModel()
    requests = RandomRequests(fresh_seed()).draw_requests()
    engine = PrefixEngine(model)
    assert engine.description.startswith("plain batches: ")
    expected = [compute_plain_score(model, *request) for request in requests]
    assert_same(engine.loglikelihoods(requests, window=WINDOW), expected)


@pytest.mark.parametrize("window", [None, 4])
def test_attention_shapes(window):
    """Compare the output shapes of the GPU-only varlen attention and of masked attention on the meta device."""
    trie, _ = build_trie(RandomRequests(0).draw_contexts())
    start = len(trie) // 2
    nodes = np.flatnonzero(trie.ends[:start] > start)
    nodes = np.concatenate([nodes, np.arange(start, len(trie))])
    attention = TrieAttention(trie, nodes, len(trie) - start, "meta")
    states = {"dtype": torch.bfloat16, "device": "meta"}
    query = torch.empty(1, 4, len(trie) - start, 64, **states)
    key, value = torch.empty(2, 1, 2, len(nodes), 64, **states)
    flash = attention.attend_varlen(query, key, value, 0.3, window)
    masked = attention.attend(query, key, value, scale=0.3, softcap=None, window=window)
    assert flash.shape == masked.shape == query.shape
