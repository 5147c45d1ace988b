"""Run a trie through a model in packed rows: without padding, each node once, with one cache.

The nodes of the trie form one row in depth-first order, cut into blocks. Each token sees only its ancestors, and its
position is its depth. Between blocks the cache keeps only the ancestors of the next token. This is enough: if a later
token descends from a node of an earlier block, so do all tokens between the two.
"""

import numpy as np
import torch

from .attention import TrieAttention
from .cache import TreeCache
from .trie import Trie


class PackedRun:
    """One pass over a trie, block by block in order.

    A block may be skipped if no later block sees its tokens (see `select_blocks`).
    """

    def __init__(self, model, trie: Trie, block_size: int):
        self.model = model  # a CausalModel
        self.trie = trie
        self.cache = TreeCache(min(trie.longest + block_size, len(trie)))
        self._cached_nodes = np.zeros(0, dtype=np.int64)  # ascending

    def run_block(self, start: int, end: int, nodes: np.ndarray) -> torch.Tensor:
        """Run the nodes from `start` to `end` and return the logits at `nodes`."""
        trie = self.trie
        ancestors = np.flatnonzero(trie.ends[self._cached_nodes] > start)
        self.cache.keep(torch.from_numpy(ancestors))
        self._cached_nodes = np.concatenate([self._cached_nodes[ancestors], np.arange(start, end)])
        self._attention = TrieAttention(trie, self._cached_nodes, end - start, self.model.device)
        self._start = start
        ids, positions, selected = (
            torch.from_numpy(array).to(self.model.device)
            for array in (trie.tokens[start:end], trie.depths[start:end], nodes - start)
        )
        return self.model.run(ids[None], positions[None], self._attention, self.cache, selected)[0]

    def find_entries(self, node: int) -> np.ndarray:
        """Return the cache entries of a node of the last block and of all its ancestors."""
        position = node - self._start
        return self._attention.find_entries(position, position + 1)


def cut_blocks(trie: Trie, block_size: int) -> list[tuple[int, int]]:
    """Cut the nodes of a trie into blocks (start, end) of at most `block_size` tokens.

    Blocks end at the ends of sequences if possible, and the added tokens of a long sequence start a new block. A block
    then depends only on the blocks with its prefix, so a resumed job can skip the block before it.
    """
    starts = trie.starts
    long_starts = starts[:-1][np.diff(starts) >= block_size / 2]
    blocks = []
    start = 0
    while start < len(trie):
        end = min(start + block_size, len(trie))
        last_start = int(starts[np.searchsorted(starts, end, side="right") - 1])
        if last_start > start:
            end = last_start
        following = long_starts[np.searchsorted(long_starts, start, side="right") :]
        if len(following):
            end = min(end, int(following[0]))
        blocks.append((start, end))
        start = end
    return blocks


def select_blocks(trie: Trie, blocks: list[tuple[int, int]], is_needed: np.ndarray) -> np.ndarray:
    """Return whether to run each block: those that are needed, and those with ancestors of their tokens."""
    selected = is_needed.copy()
    ends = np.array([trie.ends[start:end].max() for start, end in blocks])
    for index in reversed(range(len(blocks))):
        if selected[index]:
            selected[:index] |= ends[:index] > blocks[index][0]
    return selected
