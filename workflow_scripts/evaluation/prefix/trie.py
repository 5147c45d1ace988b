"""A trie of token sequences, stored in depth-first order.

Sorted sequences give the trie in depth-first order: each sequence adds the tokens after its common prefix with the
previous sequence. Running the added tokens in this order runs each node once, after all of its ancestors.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Big-endian, so that comparing bytes (memcmp) compares tokens.
_SORTABLE = np.dtype(">u4")


@dataclass(frozen=True)
class Trie:
    """The nodes of a trie in depth-first order."""

    # By node:
    tokens: np.ndarray
    depths: np.ndarray  # from 0
    ends: np.ndarray  # the index after the node's last descendant
    # By sorted sequence:
    starts: np.ndarray  # the first node that it adds; at the end, the number of nodes
    shared: np.ndarray  # the length of its common prefix with the previous sequence

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def last_nodes(self) -> np.ndarray:
        """The last node of each sequence."""
        return self.starts[1:] - 1

    @property
    def longest(self) -> int:
        """The number of tokens of the longest sequence."""
        return int(self.depths.max()) + 1

    def find_nodes(self, sequences: np.ndarray, depths: np.ndarray) -> np.ndarray:
        """Return the node at each depth of each sequence."""
        owners = sequences.copy()
        while (is_shared := depths < self.shared[owners]).any():
            owners[is_shared] -= 1
        return self.starts[owners] + depths - self.shared[owners]


def build_trie(sequences: Sequence[Sequence[int]]) -> tuple[Trie, np.ndarray]:
    """Build the trie; return it and, for each given sequence, its index in the trie's sorted distinct sequences."""
    keys = [np.asarray(tokens, dtype=_SORTABLE).tobytes() for tokens in sequences]
    distinct = sorted(set(keys))
    indices = {key: index for index, key in enumerate(distinct)}
    arrays = [np.frombuffer(key, dtype=_SORTABLE).astype(np.int64) for key in distinct]
    shared = np.zeros(len(arrays), dtype=np.int64)
    for index in range(1, len(arrays)):
        shared[index] = _count_shared(arrays[index - 1], arrays[index])
    lengths = np.array([len(tokens) for tokens in arrays])
    starts = np.concatenate([[0], np.cumsum(lengths - shared)])
    ends = np.empty(starts[-1], dtype=np.int64)
    # From the last sequence to the first: where the current node of each depth has its end.
    end_by_depth = np.full(lengths.max(), starts[-1])
    for index in reversed(range(len(arrays))):
        ends[starts[index] : starts[index + 1]] = end_by_depth[shared[index] : lengths[index]]
        end_by_depth[shared[index] :] = starts[index]
    pairs = list(zip(arrays, shared, strict=True))
    trie = Trie(
        tokens=np.concatenate([tokens[start:] for tokens, start in pairs]),
        depths=np.concatenate([np.arange(start, len(tokens)) for tokens, start in pairs]),
        ends=ends,
        starts=starts,
        shared=shared,
    )
    return trie, np.array([indices[key] for key in keys], dtype=np.int64)


def _count_shared(first: np.ndarray, second: np.ndarray) -> int:
    shortest = min(len(first), len(second))
    different = np.flatnonzero(first[:shortest] != second[:shortest])
    return int(different[0]) if len(different) else shortest
