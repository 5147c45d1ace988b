"""Compute attention for packed tries and for answers, without a full mask of all tokens by all keys.

A token of a packed trie sees its ancestors; a token of an answer sees the prefix shared by all answers and the answer's
own row. Layers pass their own scale, soft cap and window, so this code does not depend on the model.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

NAME = "prefix_sharing"
# Tokens per attention call if no kernel accepts segments; with more, each token reads more masked keys.
_TOKENS_PER_CALL = 128
_MAX_FLASH_HEAD_SIZE = 256
_MAX_COPIED_KEYS = 2**17
_MASKED_DISTANCE = 2**30  # more tokens than any window


class TrieAttention:
    """Attention of one packed row: each token sees its ancestors in the trie and itself."""

    def __init__(self, trie, nodes: np.ndarray, row_length: int, device):
        """Store the trie and its nodes in the cache, of which the last `row_length` are those of the row."""
        self._trie = trie
        self._nodes = nodes
        self._row_length = row_length
        self._device = device
        self._masks: dict[tuple, list[Tensor]] = {}

    def attend(self, query: Tensor, key: Tensor, value: Tensor, **options) -> Tensor:
        """Attend with query [1, heads, tokens, width] to all cache entries of a layer."""
        # The varlen kernel needs a copy of the prefix's keys for each sequence, hence the limit.
        if _can_run_flash(query, options["softcap"]) and len(self._segments[0]) <= _MAX_COPIED_KEYS:
            return self.attend_varlen(query, key, value, options["scale"], options["window"])
        masks = self._get_masks(options["window"], query.shape[1] // key.shape[1], query.dtype)
        outputs = [
            _compute_attention(
                query[:, :, rows], key[:, :, entries], value[:, :, entries], mask, **options
            )
            for (rows, entries), mask in zip(self._calls, masks, strict=True)
        ]
        return torch.cat(outputs, dim=2)

    def find_entries(self, start: int, end: int) -> np.ndarray:
        """Return the cache entries that the row's tokens from `start` to `end` see, including themselves."""
        row_start = len(self._nodes) - self._row_length
        cached = self._nodes[: row_start + end]
        # The ancestors of the first token end after it, and so do the first token and the later ones.
        return np.flatnonzero(self._trie.ends[cached] > cached[row_start + start])

    @cached_property
    def _calls(self) -> list[tuple[slice, Tensor]]:
        """The slice of the row that each attention call computes, and the cache entries that its tokens see."""
        calls = []
        for start in range(0, self._row_length, _TOKENS_PER_CALL):
            end = min(start + _TOKENS_PER_CALL, self._row_length)
            entries = torch.from_numpy(self.find_entries(start, end)).to(self._device)
            calls.append((slice(start, end), entries))
        return calls

    def _get_masks(self, window: int | None, groups: int, dtype) -> list[Tensor]:
        """Return the mask of each call, repeated for the `groups` query heads that share a key head."""
        options = (window, groups, dtype)
        if options not in self._masks:
            self._masks[options] = [self._build_mask(rows, *options) for rows, _ in self._calls]
        return self._masks[options]

    def _build_mask(self, rows: slice, window, groups, dtype) -> Tensor:
        queries = self._nodes[-self._row_length :][rows, None]
        keys = self._nodes[self.find_entries(rows.start, rows.stop)]
        hidden = (keys > queries) | (self._trie.ends[keys] <= queries)
        if window:
            hidden |= self._trie.depths[queries] - self._trie.depths[keys] >= window
        mask = _build_mask_values(torch.from_numpy(hidden).to(self._device), dtype)
        return mask.repeat(groups, 1)

    def attend_varlen(
        self, query: Tensor, key: Tensor, value: Tensor, scale: float, window: int | None
    ) -> Tensor:
        """Attend in one call of PyTorch's variable-length flash attention (GPU only)."""
        from torch.nn.attention.varlen import varlen_attn

        entries, *offsets_and_maxima = self._segments
        query, key, value = (x[0].transpose(0, 1) for x in (query, key, value))
        output = varlen_attn(
            query, key[entries], value[entries], *offsets_and_maxima, scale=scale,
            window_size=(window - 1 if window else -1, 0),
            enable_gqa=query.shape[1] != key.shape[1],
        )  # fmt: skip
        return output.transpose(0, 1)[None]

    @cached_property
    def _segments(self) -> tuple[Tensor, Tensor, Tensor, int, int]:
        """Cache entries of each sequence, offsets of its tokens and entries, and the maximum counts of both.

        A sequence here is the part of the row that it added to the trie.
        """
        first = int(self._nodes[-self._row_length])
        starts = self._trie.starts
        starts_in_row = starts[(first < starts) & (starts < first + self._row_length)] - first
        token_offsets = [0, *starts_in_row.tolist(), self._row_length]
        entries = [self.find_entries(*span) for span in pairwise(token_offsets)]
        counts = [len(indices) for indices in entries]
        entry_offsets = [0, *accumulate(counts)]
        return (
            torch.from_numpy(np.concatenate(entries)).to(self._device),
            torch.tensor(token_offsets, dtype=torch.int32, device=self._device),
            torch.tensor(entry_offsets, dtype=torch.int32, device=self._device),
            # For 1 the kernel would turn groups of heads into rows.
            max(2, int(np.diff(token_offsets).max())),
            max(counts),
        )


class RowAttention:
    """Attention of the next token of several answers to a shared prefix and to each answer's own keys."""

    def __init__(self, positions: Tensor, cache):
        """Compute the distance of each cached key to the answer's next token, which is not in the cache yet."""
        positions = positions[:, None]
        prefix = torch.arange(cache.prefix_length, device=positions.device)
        row = positions - torch.arange(cache.used, -1, -1, device=positions.device)
        is_padding = row < cache.prefix_length  # on the left
        row = row.masked_fill(is_padding, -_MASKED_DISTANCE)
        self._distances = positions - torch.cat([prefix.expand(len(row), -1), row], dim=1)
        self._cache = cache
        self._masks: dict[int | None, Tensor] = {}

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, *, scale, softcap, window
    ) -> Tensor:
        if window not in self._masks:
            hidden = self._distances >= (window or _MASKED_DISTANCE)
            self._masks[window] = _build_mask_values(hidden, torch.float32)[:, None, None]
        prefix_keys, prefix_values = self._cache.current.prefix
        rows, heads, _, width = query.shape
        key_heads = key.shape[1]
        groups = heads // key_heads
        query = (query * scale).view(rows, key_heads, groups, width)
        prefix_scores = query.transpose(0, 1).flatten(1, 2) @ prefix_keys.mT
        prefix_scores = prefix_scores.view(key_heads, rows, groups, -1).transpose(0, 1)
        scores = torch.cat([prefix_scores, query @ key.mT], dim=-1)
        if softcap:
            scores = torch.tanh(scores / softcap) * softcap
        weights = (scores + self._masks[window]).softmax(-1).to(value.dtype)
        prefix_weights, row_weights = weights.split([prefix_scores.shape[-1], key.shape[2]], dim=-1)
        output = prefix_weights.transpose(0, 1).flatten(1, 2) @ prefix_values
        output = row_weights @ value + output.view(key_heads, rows, groups, width).transpose(0, 1)
        return output.reshape(rows, heads, 1, width)


def _build_mask_values(hidden: Tensor, dtype) -> Tensor:
    mask = torch.zeros(hidden.shape, dtype=dtype, device=hidden.device)
    return mask.masked_fill_(hidden, torch.finfo(dtype).min)


def _compute_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
    *,
    scale: float,
    softcap: float | None,
    window: int | None,
) -> Tensor:
    batch, heads, rows, width = query.shape
    # Query heads that share keys become rows of one head, so that keys are not copied.
    query = query.reshape(batch, key.shape[1], -1, width)
    if softcap:
        scores = torch.tanh(query @ key.mT * (scale / softcap)) * softcap
        output = (scores + mask).softmax(-1, dtype=torch.float32).to(value.dtype) @ value
    elif query.device.type == "cpu" and query.dtype == torch.bfloat16:
        # PyTorch's kernel does not use the processor's products of bfloat16.
        output = ((query * scale) @ key.mT).add_(mask).softmax(-1) @ value
    else:
        output = scaled_dot_product_attention(query, key, value, mask, scale=scale)
    return output.reshape(batch, heads, rows, -1)


def _can_run_flash(query: Tensor, softcap: float | None) -> bool:
    return (
        query.is_cuda
        and not softcap
        and query.dtype in (torch.float16, torch.bfloat16)
        and query.shape[-1] % 8 == 0
        and query.shape[-1] <= _MAX_FLASH_HEAD_SIZE
        and torch.cuda.get_device_capability(query.device) >= (8, 0)
    )


def run_prefix_attention(  # noqa: PLR0913 (the arguments that transformers passes)
    module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask,
    *,
    prefix_sharing: TrieAttention | RowAttention,
    scaling: float | None = None,
    softcap: float | None = None,
    sliding_window: int | None = None,
    s_aux: Tensor | None = None,
    **_,
) -> tuple[Tensor, None]:
    """Run the attention in `prefix_sharing`, with the signature of transformers' attention functions."""
    if s_aux is not None:
        raise ValueError("attention sinks are not among the keys")
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    output = prefix_sharing.attend(
        query, key, value, scale=scale, softcap=softcap, window=sliding_window
    )
    return output.transpose(1, 2).contiguous(), None


@contextmanager
def use_attention(model) -> Iterator[None]:
    """Switch all layers of a model to this attention; layers look it up in the config at each call."""
    before = model.config._attn_implementation
    model.config._attn_implementation = NAME
    try:
        yield
    finally:
        model.config._attn_implementation = before


AttentionInterface.register(NAME, run_prefix_attention)
