"""Log-likelihoods of the engine: the same as one sequence at a time, whatever runs together."""

import random

import numpy as np
import pytest
import torch

from tests.peak_memory import PeakMemory
from tests.tiny_models import tiny_model
from tests.unit.evaluation.drawn import WINDOW, Requests, WithoutCache, fresh_seed, plain_score
from workflow_scripts.evaluation.prefix.engine import PrefixEngine
from workflow_scripts.evaluation.prefix.trie import build_trie

# Every architecture of config/models.tsv (Yi is a Llama), windows in all layers, and what is put around models.
KINDS = (
    *("gpt2", "gpt_neox", "llama", "qwen1.5", "qwen2", "qwen3", "gemma", "gemma2"),
    *("windowed", "some_windowed", "peft", "eager", "pruned"),
)


def assert_same(found, expected, within: float = 1e-4) -> None:
    assert [value for value, _ in found] == pytest.approx([v for v, _ in expected], abs=within)
    assert [greedy for _, greedy in found] == [greedy for _, greedy in expected]


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_one_sequence_at_a_time(kind):
    """In calls of every size, in whatever order."""
    model = tiny_model(kind)
    requests = Requests(fresh_seed()).mixed()
    # Some that are right, so that greedy flags are not all false.
    for context, _ in requests[:6]:
        with torch.no_grad():
            best = model(torch.tensor([context])).logits[0, -1].argmax().item()
        requests.append((context, [best]))
    expected = [plain_score(model, *request) for request in requests]
    assert any(greedy for _, greedy in expected)
    for tokens_per_call in (512, 16, 5):
        engine = PrefixEngine(model, tokens_per_call=tokens_per_call)
        assert engine.description == "prefix sharing"
        assert_same(engine.loglikelihoods(requests, window=WINDOW), expected)
        assert engine.tokens_run == engine.tokens == engine.trie_tokens


def test_longer_than_the_window_gives_way_on_the_left():
    model = tiny_model("llama")
    draw = Requests(fresh_seed())
    long = draw.tokens(2 * WINDOW)
    requests = [(long + draw.tokens(5, 9), draw.tokens(1, 4)) for _ in range(4)]
    requests.append((draw.tokens(1), draw.tokens(WINDOW)))
    expected = [plain_score(model, *request) for request in requests]
    found = PrefixEngine(model, tokens_per_call=32).loglikelihoods(requests, window=WINDOW)
    assert_same(found, expected, within=5e-4)  # sums of up to 128 log-probabilities


def test_what_no_window_can_hold_is_refused():
    engine = PrefixEngine(tiny_model("llama"))
    for request in (([], [1]), ([1], []), ([1], [1] * (WINDOW + 1))):
        with pytest.raises(ValueError, match=r"window of 128"):
            engine.loglikelihoods([request], window=WINDOW)
    assert engine.loglikelihoods([], window=WINDOW) == []


def test_a_model_without_a_cache_runs_in_plain_batches_and_says_so():
    model = WithoutCache()
    requests = Requests(fresh_seed()).mixed()
    engine = PrefixEngine(model)
    assert engine.description.startswith("plain batches: ")
    expected = [plain_score(model, *request) for request in requests]
    assert_same(engine.loglikelihoods(requests, window=WINDOW), expected)


def test_a_model_that_ignores_the_attention_is_found_out():
    model = tiny_model("qwen2")
    forward = model.forward
    requests = Requests(fresh_seed()).mixed()
    expected = [plain_score(model, *request) for request in requests]

    def ignore(*args, prefix_sharing=None, attention_mask=None, **kwargs):
        return forward(*args, **kwargs)

    model.forward = ignore
    engine = PrefixEngine(model)
    assert engine.description.startswith("plain batches: ")
    assert_same(engine.loglikelihoods(requests, window=WINDOW), expected)


@pytest.mark.parametrize("kind", ["qwen2", "gpt_neox"])
@pytest.mark.parametrize("megabytes", [2, 16])
def test_memory_stays_within_the_budget(kind, megabytes):
    # A large vocabulary, as real ones are: all logits at once would be the largest part by far.
    model = tiny_model(kind, vocabulary=1500)
    draw = Requests(fresh_seed(), vocabulary=1500)
    requests = [
        *((context, draw.tokens(1, 12)) for context in draw.contexts(3, 20)),
        *((draw.tokens(10, 60), draw.tokens(1, 12)) for _ in range(40)),
        *((draw.tokens(1), draw.tokens(100)) for _ in range(10)),  # all logits wanted
    ]
    engine = PrefixEngine(model, memory_budget=megabytes * 2**20)
    with PeakMemory() as peak:
        found = engine.loglikelihoods(requests, window=WINDOW)
    assert peak.bytes <= engine.memory_budget
    assert peak.bytes >= engine.memory_budget / 20 or megabytes == 16, "the meter sees something"
    assert_same(found[:8], [plain_score(model, *request) for request in requests[:8]])


def test_the_trie_counts_each_shared_start_once():
    rng = random.Random(fresh_seed())
    # Few different tokens, so that starts are shared in all sorts of ways; some large ones.
    sequences = [rng.choices([1, 2, 255, 256, 70_000], k=rng.randint(1, 9)) for _ in range(60)]
    nodes = {tuple(s[:at]) for s in sequences for at in range(1, len(s) + 1)}
    trie, places = build_trie(sequences)
    assert len(trie) == len(nodes)
    for sequence, place in zip(sequences, places, strict=True):
        depths = np.arange(len(sequence))
        path = trie.find_nodes(np.full(len(sequence), place), depths)
        assert trie.tokens[path].tolist() == sequence
        assert trie.depths[path].tolist() == depths.tolist()
        assert all(path[-1] < trie.ends[path])
