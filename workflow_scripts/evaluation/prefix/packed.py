"""Run a trie through a model in packed rows: no padding, no token twice, one cache.

The tokens of the trie stand in one row in depth-first order, cut into blocks. A mask lets each token
see its own ancestors only, and its position is its depth. Between blocks the cache keeps what later
tokens can still see: the ancestors of the next token, and nothing else. (Whoever comes later and
sees a token of an earlier block descends from it, and so does everything between the two.)
"""

from dataclasses import dataclass

import numpy as np
import torch

from workflow_scripts.evaluation.prefix.cache import TreeCache
from workflow_scripts.evaluation.prefix.trie import DepthFirst, Trie


@dataclass(frozen=True)
class _Piece:
    """The part of one sequence's stretch that lies in a block."""

    sequence: int
    first_row: int
    rows: int
    ancestors: np.ndarray  # numbers of the tokens before the piece, from the root
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
        self._walk = self.order.walk()
        self._at, self._path = next(self._walk)

    def run(
        self, start: int, end: int, wanted: np.ndarray
    ) -> tuple[torch.Tensor, dict[int, np.ndarray]]:
        """Run tokens start..end; the logits at the wanted ones (numbers), and for each sequence
        that ended in the block the cache entries it is made of."""
        rows = end - start
        before = self.kept + start - self.first
        visible = np.zeros((rows, before + rows), dtype=bool)
        ended = {}
        for piece in self._pieces(start, end):
            last = piece.first_row + piece.rows
            of_piece = visible[piece.first_row : last]
            entries = self._entries(piece.ancestors)
            of_piece[:, entries] = True
            own = np.arange(piece.first_row, last) + before
            of_piece[:, own] = np.tri(piece.rows, dtype=bool)
            if piece.ends:
                ended[piece.sequence] = np.concatenate([entries, own])
        self._end = end
        tokens, depths = self.order.tokens[start:end], self.order.depths[start:end]
        return self._packed(tokens, depths, visible, wanted - start), ended

    def forget_before(self, start: int) -> None:
        """Keep of the cache what the token of this number and all after it can still see."""
        self._advance_to(start)
        ancestors = self._path[: self.order.depths[start]]
        self.cache.keep(torch.from_numpy(self._entries(ancestors)))
        self.kept, self.first = len(ancestors), start

    def _packed(self, tokens, depths, visible, wanted) -> torch.Tensor:
        read = self.order.depths[self.first : self._end]
        return self.model.packed(
            tokens=tokens,
            positions=depths,
            visible=visible,
            depths=(depths, np.concatenate([np.arange(self.kept), read])),
            cache=self.cache,
            wanted=wanted,
        )

    def _entries(self, tokens: np.ndarray) -> np.ndarray:
        """Where in the cache these tokens are: a kept ancestor at its depth, others in order."""
        return np.where(
            tokens < self.first, np.arange(len(tokens)), tokens - self.first + self.kept
        )

    def _pieces(self, start: int, end: int):
        at = start
        while at < end:
            self._advance_to(at)
            stretch_end = self.order.starts[self._at + 1]
            stop = min(end, stretch_end)
            yield _Piece(
                sequence=self._at,
                first_row=at - start,
                rows=int(stop - at),
                ancestors=self._path[: self.order.depths[at]],
                ends=stop == stretch_end,
            )
            at = int(stop)

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
