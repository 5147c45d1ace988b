"""The trie: each node once, ancestors before descendants."""

import random

import numpy as np

from tests.unit.evaluation.tiny_models import fresh_seed
from workflow_scripts.evaluation.prefix.packed import with_ancestors
from workflow_scripts.evaluation.prefix.trie import DepthFirst, build_trie


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


def test_depth_first_every_token_comes_after_its_ancestors():
    trie, _ = build_trie(some_sequences(fresh_seed()))
    order = DepthFirst(trie)
    assert len(order) == trie.tokens
    for at, path in order.walk():
        assert order.tokens[path].tolist() == trie.sequences[at].tolist()
        assert order.depths[path].tolist() == list(range(len(path)))
        assert (np.diff(path) > 0).all()


def test_a_subset_is_the_trie_of_what_is_left():
    seed = fresh_seed()
    sequences = some_sequences(seed)
    trie, _ = build_trie(sequences)
    chosen = sorted(random.Random(seed).sample(range(len(trie.sequences)), 20))
    left = trie.subset(chosen)
    again, _ = build_trie([trie.sequences[at].tolist() for at in chosen])
    assert left.shared.tolist() == again.shared.tolist()


def test_what_is_run_again_has_all_it_descends_from():
    seed = fresh_seed()
    trie, _ = build_trie(some_sequences(seed))
    order = DepthFirst(trie)
    starts = list(range(0, len(order), 4))
    wanted = np.array([random.Random(seed + at).random() < 0.2 for at in range(len(starts))])
    needed = with_ancestors(order, starts, wanted)
    assert (needed >= wanted).all()
    block_of = np.arange(len(order)) // 4
    for _, path in order.walk():
        for token in path:
            if needed[block_of[token]]:
                assert needed[block_of[path[path < token]]].all()
