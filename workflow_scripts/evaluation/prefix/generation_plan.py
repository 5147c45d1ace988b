"""How many answers grow side by side, and what of their keys is kept once: as the memory allows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workflow_scripts.evaluation.prefix.answer import GenerationRequest
from workflow_scripts.evaluation.prefix.answer_cache import CacheShape
from workflow_scripts.evaluation.prefix.answer_rows import STATIC_ENTRIES
from workflow_scripts.evaluation.prefix.budget import Budget
from workflow_scripts.evaluation.prefix.families import Families
from workflow_scripts.evaluation.prefix.model import text_config
from workflow_scripts.evaluation.prefix.trie import Trie

# A family that could take a quarter of the rows is worth a lane. There are more lanes than the rows
# need, so that a family whose answers are ending does not keep the next one from beginning.
_SHARE_OF_ROWS, _LANES_FOR_ROWS = 4, 1.5
# Blocks of prompts are not made smaller than this for the sake of answers.
_ENOUGH_TOKENS = 256
# Copies of a step's attention scores, in float32, that live at once.
_COPIES_OF_SCORES = 6


@dataclass(frozen=True)
class AtOnce:
    """What a device does at once."""

    tokens: int  # of one call while prompts are read
    answers: int  # that take a token in the same call
    steps: int  # before anybody looks at the answers
    static: bool  # shapes rounded up, so that few occur


@dataclass(frozen=True)
class Plan:
    block: int  # tokens of one call while prompts are read
    capacity: int  # entries of the cache that they are read into
    logit_rows: int
    shape: CacheShape  # of the cache that answers grow in
    families: Families
    at_once: AtOnce

    @classmethod
    def of(
        cls,
        model,
        trie: Trie,
        places: np.ndarray,
        requests: Sequence[GenerationRequest],
        budget: Budget,
        at_once: AtOnce,
    ) -> "Plan":
        """For a CausalModel."""
        sizes = _Sizes(model, trie, places, requests, budget, at_once)
        longest = int(sizes.lengths.max())
        block = budget.block(2 * longest + sizes.new, at_once.tokens)
        logit_rows = min(budget.logit_rows, len(requests))

        def reading(block: int) -> int:
            return budget.packed_bytes(block, longest + block, min(block, logit_rows))

        # Answers need room, too: a larger block would read faster what then waits for a row.
        while block > _ENOUGH_TOKENS and reading(block) > budget.bytes // 2:
            block //= 2
        logit_rows, left = min(block, logit_rows), budget.bytes - reading(block)
        rows = min(at_once.answers, len(requests), logit_rows)
        alone = sizes.fitting(rows, left, shared=False)
        together = sizes.fitting(rows, left, shared=True)
        families, shape = together if together[1].rows >= alone[1].rows else alone
        return cls(block, longest + block, logit_rows, shape, families, at_once)


class _Sizes:
    def __init__(self, model, trie: Trie, places, requests, budget: Budget, at_once: AtOnce):
        self._model, self._trie, self._budget, self._static = model, trie, budget, at_once.static
        self.lengths = np.array([len(sequence) for sequence in trie.sequences])
        self._requests = np.bincount(places, minlength=len(trie.sequences))
        self.new = max(request.new_tokens for request in requests)

    def fitting(self, rows: int, left: int, *, shared: bool) -> tuple[Families, CacheShape]:
        """As many rows as the bytes left allow, one at least."""
        found = self._shape(rows, shared)
        while rows > 1 and self._bytes(found[1]) > left:
            rows //= 2
            found = self._shape(rows, shared)
        return found

    def _shape(self, rows: int, shared: bool) -> tuple[Families, CacheShape]:
        least = -(-rows // _SHARE_OF_ROWS)
        families = Families.none(self._trie)
        if shared and least > 1 and self._model.shares_starts:
            families = Families.find(self._trie, self._requests, least)
        lanes, per_lane, start = 0, 1, int(families.common.max())
        if start:
            sizes = np.bincount(families.of[families.of >= 0], self._requests[families.of >= 0])
            sizes = sizes[sizes > 0]
            per_lane = min(rows, int(np.median(sizes)))
            lanes = int(np.ceil(sizes / per_lane).sum())
            lanes = min(lanes, math.ceil(_LANES_FOR_ROWS * rows / per_lane))
        # The last token of an answer is not read.
        own = int((self.lengths - families.common).max()) + max(self.new - 1, 1)
        if self._static:
            own = -(-own // STATIC_ENTRIES) * STATIC_ENTRIES
        return families, CacheShape(rows, own, lanes, per_lane, start)

    def _bytes(self, shape: CacheShape) -> int:
        # A step's other tensors are smaller than those of a block that is read.
        heads = getattr(text_config(self._model.model), "num_attention_heads", None) or 1
        eager = self._model.masked_attention == "eager"  # repeats keys and values for all heads
        entry = self._budget.cache_entry if eager else self._model.cache_bytes
        scores = heads * 4 * _COPIES_OF_SCORES * shape.rows * (shape.own + shape.start)
        return shape.entries * entry + scores + self._recorded(shape)

    def _recorded(self, shape: CacheShape) -> int:
        """The logits of all steps that may be recorded: each shape's stay where its graph puts them."""
        if not (self._static and self._model.records_steps):
            return 0
        widths = (1 << (shape.rows - 1).bit_length()) - 1 + shape.rows  # 1 + 2 + 4 + ... + all
        row = self._model.vocabulary * self._model.dtype.itemsize
        return widths * (shape.own // STATIC_ENTRIES) * row
