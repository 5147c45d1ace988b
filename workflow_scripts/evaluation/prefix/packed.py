"""Run a trie through a model in packed rows: no padding, no token twice, one cache.

The tokens of the trie stand in one row in depth-first order, cut into blocks. Each token sees its own
ancestors only, and its position is its depth. Between blocks the cache keeps what later
tokens can still see: the ancestors of the next token, and nothing else. (Whoever comes later and
sees a token of an earlier block descends from it, and so does everything between the two.)
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from workflow_scripts.evaluation.prefix.cache import TreeCache
from workflow_scripts.evaluation.prefix.sight import Branch, Range, Sight, first_of, joined
from workflow_scripts.evaluation.prefix.trie import DepthFirst, Trie


@dataclass(frozen=True)
class _Piece:
    """The part of one sequence's stretch that lies in a block."""

    sequence: int
    branch: Branch
    path: tuple[Range, ...]  # entries of the cache from the root to its last token
    ends: bool  # with the last token of the sequence


class PackedRun:
    """One pass over a trie, block after block in order; one that is left out must hold nothing that
    a later one sees, see `with_ancestors`."""

    def __init__(self, model, trie: Trie, capacity: int):
        self.model = model  # a CausalModel
        self.order = DepthFirst(trie)
        self.cache = TreeCache(capacity)
        # Entries of the cache: `kept` ancestors by depth, then all tokens from number `first` on.
        self.kept, self.first = 0, 0
        self._ancestors = np.zeros(0, dtype=np.int64)  # the numbers of the kept ones
        self._ran: list[_Piece] = []
        self._seen: tuple[Range, ...] = ()  # entries from the root to the last token that ran
        self._walk = self.order.walk()
        self._at, self._path = next(self._walk)

    def run(self, start: int, end: int, wanted: np.ndarray) -> torch.Tensor:
        """Run tokens start..end; the logits at the wanted ones (numbers)."""
        order, pieces = self.order, list(self._pieces(start, end))
        self._ran = pieces
        numbers = np.concatenate([self._ancestors, np.arange(self.first, end)])
        depths = np.concatenate([np.arange(self.kept), order.depths[self.first : end]])
        sight = Sight(numbers, order.ends[numbers], depths, tuple(piece.branch for piece in pieces))
        return self.model.packed(
            tokens=order.tokens[start:end],
            positions=order.depths[start:end],
            sight=sight,
            cache=self.cache,
            wanted=wanted - start,
        )

    def ended(self) -> dict[int, np.ndarray]:
        """For each sequence that ended in the last block the cache entries it is made of."""
        return {
            piece.sequence: np.concatenate([np.arange(*entries) for entries in piece.path])
            for piece in self._ran
            if piece.ends
        }

    def forget_before(self, start: int) -> None:
        """Keep of the cache what the token of this number and all after it can still see."""
        self._advance_to(start)
        ancestors = self._path[: self.order.depths[start]]
        self.cache.keep(torch.from_numpy(self._entries(ancestors)))
        self.kept, self.first = len(ancestors), start
        self._ancestors = ancestors.copy()
        self._seen = joined((), (0, self.kept))

    def _entries(self, tokens: np.ndarray) -> np.ndarray:
        """Where in the cache these tokens are: a kept ancestor at its depth, others in order."""
        return np.where(
            tokens < self.first, np.arange(len(tokens)), tokens - self.first + self.kept
        )

    def _pieces(self, start: int, end: int) -> Iterator[_Piece]:
        at, before = start, self.kept - self.first
        while at < end:
            self._advance_to(at)
            stretch_end = int(self.order.starts[self._at + 1])
            stop = min(end, stretch_end)
            seen = first_of(self._seen, int(self.order.depths[at]))
            self._seen = joined(seen, (at + before, stop + before))
            yield _Piece(
                self._at, Branch(at - start, stop - at, seen), self._seen, stop == stretch_end
            )
            at = stop

    def _advance_to(self, token: int) -> None:
        while token >= self.order.starts[self._at + 1]:
            self._at, self._path = next(self._walk)


def with_ancestors(order: DepthFirst, starts: list[int], wanted: np.ndarray) -> np.ndarray:
    """Which blocks (given by their starts) to run so that the wanted ones can be run."""
    if wanted.all():
        return wanted
    needed = wanted.copy()
    before = []  # for each block the blocks that its first token's ancestors are in
    walk = order.walk()
    at, path = next(walk)
    for start in starts:
        while start >= order.starts[at + 1]:
            at, path = next(walk)
        ancestors = path[: order.depths[start]]
        before.append(np.unique(np.searchsorted(starts, ancestors, side="right") - 1))
    for block in reversed(range(len(starts))):
        if needed[block]:
            needed[before[block]] = True
    return needed
