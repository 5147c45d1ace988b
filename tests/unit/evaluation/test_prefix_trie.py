"""The trie: each node once, ancestors before descendants."""

import random

from tests.unit.evaluation.drawn import fresh_seed
from workflow_scripts.evaluation.prefix.trie import build_trie


def some_sequences(seed: int, count: int = 60) -> list[list[int]]:
    rng = random.Random(seed)
    # Few different tokens, so that starts are shared in all sorts of ways; some large ones.
    return [rng.choices([1, 2, 255, 256, 70_000], k=rng.randint(1, 9)) for _ in range(count)]


def test_the_trie_counts_each_shared_start_once():
    sequences = some_sequences(fresh_seed())
    nodes = {tuple(s[:at]) for s in sequences for at in range(1, len(s) + 1)}
    trie, places = build_trie(sequences)
    assert trie.tokens == len(nodes)
    assert [trie.sequences[at].tolist() for at in places] == sequences
