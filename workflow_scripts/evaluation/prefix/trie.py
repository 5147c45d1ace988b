"""What token sequences share: their trie, kept as sorted sequences and shared lengths.

Sorted sequences are the trie in depth-first order. Each adds to the one before it only what follows
their common start, its `stretch`; running all stretches in this order runs every node of the trie
exactly once, and whatever a token attends to has been run before it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

# Big-endian, so that comparing the bytes compares the tokens, at the speed of memcmp.
_SORTABLE = np.dtype(">u4")


@dataclass(frozen=True)
class Trie:
    """Distinct sequences in order, and how many tokens each shares with the one before it."""

    sequences: list[np.ndarray]
    shared: np.ndarray

    @property
    def tokens(self) -> int:
        """The nodes of the trie: what must be run if nothing is run twice."""
        return int(sum(len(s) for s in self.sequences) - self.shared.sum())

    def subset(self, wanted: Sequence[int]) -> "Trie":
        """The trie of some of the sequences; `wanted` ascends."""
        sequences = [self.sequences[at] for at in wanted]
        shared = np.zeros(len(wanted), dtype=np.int64)
        for here in range(1, len(wanted)):
            # What two sequences share is the least that neighbours between them share.
            shared[here] = self.shared[wanted[here - 1] + 1 : wanted[here] + 1].min()
        return Trie(sequences, shared)


def build_trie(sequences: Sequence[Sequence[int]]) -> tuple[Trie, np.ndarray]:
    """The trie, and for each given sequence its place among the sorted distinct ones."""
    keys = [np.asarray(tokens, dtype=_SORTABLE).tobytes() for tokens in sequences]
    distinct = sorted(set(keys))
    place = {key: at for at, key in enumerate(distinct)}
    arrays = [np.frombuffer(key, dtype=_SORTABLE).astype(np.int64) for key in distinct]
    shared = np.zeros(len(arrays), dtype=np.int64)
    for at in range(1, len(arrays)):
        shared[at] = _common_start(arrays[at - 1], arrays[at])
    return Trie(arrays, shared), np.array([place[key] for key in keys], dtype=np.int64)


def _common_start(a: np.ndarray, b: np.ndarray) -> int:
    least = min(len(a), len(b))
    differing = np.flatnonzero(a[:least] != b[:least])
    return int(differing[0]) if len(differing) else least


class DepthFirst:
    """The tokens of a trie one after another, and for each where its descendants end."""

    def __init__(self, trie: Trie):
        self.trie = trie
        lengths = np.array([len(s) for s in trie.sequences], dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(lengths - trie.shared)])
        pairs = list(zip(trie.sequences, trie.shared, strict=True))
        self.tokens = np.concatenate([s[at:] for s, at in pairs])
        self.depths = np.concatenate([np.arange(at, len(s)) for s, at in pairs])
        self.longest = int(lengths.max())
        self.ends = self._ends()

    def _ends(self) -> np.ndarray:
        """For each token the number behind the last of its descendants."""
        ends = np.full(len(self.tokens), len(self.tokens), dtype=np.int64)
        path, length = np.zeros(self.longest, dtype=np.int64), 0
        for at, (tokens, shared) in enumerate(
            zip(self.trie.sequences, self.trie.shared, strict=True)
        ):
            ends[path[shared:length]] = self.starts[at]
            length = len(tokens)
            path[shared:length] = np.arange(self.starts[at], self.starts[at + 1])
        return ends

    def __len__(self) -> int:
        return len(self.tokens)

    def walk(self) -> Iterator[tuple[int, np.ndarray]]:
        """Each sequence with the numbers of its tokens; the array is overwritten at each step."""
        path = np.zeros(self.longest, dtype=np.int64)
        for at, (tokens, shared) in enumerate(
            zip(self.trie.sequences, self.trie.shared, strict=True)
        ):
            path[shared : len(tokens)] = np.arange(self.starts[at], self.starts[at + 1])
            yield at, path[: len(tokens)]
