"""How much may run at once within a number of bytes, estimated from the shapes.

Counted is what a call adds to the weights: the cache, the mask if there is one, one layer's activations
and the logits. The estimates lie above the peaks that the tests measure.
"""

import math
from dataclasses import dataclass

import torch

from workflow_scripts.core.errors import UserError
from workflow_scripts.evaluation.prefix.model import get_attention, text_config
from workflow_scripts.planning.memory import (
    SHARE_OF_LOGITS,
    SMALLEST_BLOCK,
    logit_bytes,
    logit_rows,
    scored_bytes,
    token_bytes,
)


@dataclass(frozen=True)
class Budget:
    """What one token, one cache entry and one row of logits cost, and how much there is."""

    bytes: int
    token: int
    cache_entry: int
    mask_entry: int  # of a packed row
    plain_mask_entry: int
    logit_row: int
    logit_rows: int  # how many of them a call may return
    log_probabilities: int  # what taking them needs, a few rows at a time
    all_logits: bool  # the model computes the logits of every token, wanted or not
    all_plain_logits: bool  # the same of a plain batch

    @classmethod
    def of(cls, model, size: int) -> "Budget":
        """The costs of a CausalModel."""
        item = model.dtype.itemsize
        widest = max(
            (
                min(matrix.shape) if model.vocabulary in matrix.shape else max(matrix.shape)
                for matrix in model.model.parameters()
                if matrix.dim() == 2
            ),
            default=1,
        )
        heads = getattr(text_config(model.model), "num_attention_heads", None) or 1
        eager = get_attention(model.model) == "eager"
        # Boolean and additive, two of each with windows; eager attention has scores per head.
        mask = 2 * (1 + item) + (3 * heads * max(item, 4) if eager else item)
        device = torch.device(model.device).type
        rows = logit_rows(size, model.vocabulary, item, device)
        row, scored = logit_bytes(model.vocabulary, item), scored_bytes(1, model.vocabulary, device)
        if rows < 1:
            raise UserError(
                f"The memory budget of {_mb(size)} MB is too small for the logits of this model, which"
                f" has {model.vocabulary:,} tokens; it needs at least"
                f" {_mb(math.ceil((row + scored) / SHARE_OF_LOGITS))} MB."
            )
        return cls(
            bytes=size,
            token=token_bytes(widest, item),
            # The cache itself, and the keys and values of one layer repeated for all heads.
            cache_entry=model.cache_bytes + 3 * widest * item,
            mask_entry=0 if model.by_branch else mask,
            plain_mask_entry=mask,
            logit_row=row,
            logit_rows=rows,
            log_probabilities=scored_bytes(rows, model.vocabulary, device),
            all_logits=not model.selects_logits,
            all_plain_logits=not model.selects_by_row,
        )

    def packed_bytes(self, tokens: int, entries: int, logit_rows: int) -> int:
        """What a packed row of so many tokens takes on so many cache entries, its own included."""
        return (
            tokens * self.token
            + entries * self.cache_entry
            + tokens * entries * self.mask_entry
            + (tokens if self.all_logits else logit_rows) * self.logit_row
            + self.log_probabilities
        )

    def block(self, longest: int, preferred: int) -> int:
        """Tokens of a packed row on top of the longest path."""

        def needed(tokens: int) -> int:
            return self.packed_bytes(tokens, longest + tokens, min(tokens, self.logit_rows))

        tokens = preferred
        while needed(tokens) > self.bytes:
            tokens //= 2
            if tokens < SMALLEST_BLOCK:
                raise UserError(
                    f"The memory budget of {_mb(self.bytes)} MB is too small for sequences of"
                    f" {longest} tokens with this model; it needs at least"
                    f" {_mb(needed(SMALLEST_BLOCK))} MB."
                )
        return tokens

    def entries(self, tokens: int, logit_rows: int) -> int:
        """Entries of the cache that fit beside calls of so many tokens."""
        fixed = self.packed_bytes(tokens, 0, logit_rows)
        return (self.bytes - fixed) // (self.cache_entry + tokens * self.mask_entry)

    def plain_rows(self, length: int, preferred_tokens: int) -> int:
        """Rows of a plain batch of this length: at least one, which nothing can make smaller."""
        row = length * self.token + length * length * self.plain_mask_entry
        if self.all_plain_logits:
            row += length * self.logit_row
        return max(
            1, min(preferred_tokens // length, int(self.bytes * (1 - SHARE_OF_LOGITS)) // row)
        )


def _mb(size: int) -> int:
    return -(-size // 2**20)
