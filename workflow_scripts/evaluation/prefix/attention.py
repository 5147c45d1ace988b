"""Attention over a trie, branch by branch, without a mask of tokens and keys.

A token sees its own branch up to itself, and of what lies before the branch everything. So the own
branches are one causal call, and what several branches see, level by level from the root on, is one call
without any mask a level: no key is read for a token that does not see it, and none is copied for another
branch. The log-sum-exps of the scores put the parts together (cascade attention).

Where a layer looks through a window that is shorter than the sequences, each branch is given the keys
that its tokens can see, in one call.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from workflow_scripts.evaluation.prefix.kernels import Call, kernel_for
from workflow_scripts.evaluation.prefix.sight import Range, Sight, joined, last_of

NAME, START = "branches", "shared_start"
# Taken for a finished mask and passed through, so that transformers makes none.
NO_MASK = torch.ones(1, 1, 1, 1, dtype=torch.bool)


@dataclass(frozen=True)
class Level:
    """Which rows and keys one call of a kernel is about."""

    rows: slice | Tensor
    keys: slice | Tensor
    call: Call


class Cascade:
    """The calls that a row of tokens takes; made once for all layers."""

    def __init__(self, sight: Sight, device):
        self._sight, self._device = sight, device
        self._before = len(sight.numbers) - sight.rows
        self._levels: list[Level] | None = None
        self._near: dict[int, list[Level]] = {}
        self.longest = int(sight.depths.max()) + 1

    def levels(self, window: int | None) -> list[Level]:
        if window and window < self.longest:
            if window not in self._near:
                self._near[window] = [self._windowed(window)]
            return self._near[window]
        if self._levels is None:
            self._levels = [self._own(), *self._shared()]
        return self._levels

    def _own(self) -> Level:
        rows = [(one.start, one.start + one.rows) for one in self._sight.branches]
        keys = [((self._before + start, self._before + end),) for start, end in rows]
        return self._level(rows, keys, causal=True)

    def _shared(self) -> Iterator[Level]:
        """From the root on; neighbouring branches that see the same are together."""
        rows: list[list[Range]] = []
        keys: list[list[tuple[Range, ...]]] = []
        for branch in self._sight.branches:
            end = branch.start + branch.rows
            for depth, seen in enumerate(branch.seen):
                if depth == len(rows):
                    rows.append([])
                    keys.append([])
                if (
                    rows[depth]
                    and rows[depth][-1][1] == branch.start
                    and keys[depth][-1] == (seen,)
                ):
                    rows[depth][-1] = (rows[depth][-1][0], end)
                else:
                    rows[depth].append((branch.start, end))
                    keys[depth].append((seen,))
        for of_level, seen_by in zip(rows, keys, strict=True):
            yield self._level(of_level, seen_by)

    def _windowed(self, window: int) -> Level:
        rows, keys = [], []
        for branch in self._sight.branches:
            start, end = branch.start, branch.start + branch.rows
            rows.append((start, end))
            own = (self._before + start, self._before + end)
            keys.append(joined(last_of(branch.seen, window - 1), own))
        return self._level(rows, keys, causal=True, window=window)

    def _level(
        self, rows: list[Range], keys: Sequence[tuple[Range, ...]], *, causal=False, window=None
    ) -> Level:
        return Level(
            _chosen(rows, self._device),
            _chosen([one for ranges in keys for one in ranges], self._device),
            Call(
                _lengths([(one,) for one in rows]),
                _lengths(keys),
                causal=causal,
                window=window,
                device=self._device,
            ),
        )


def _lengths(of_segments: Sequence[tuple[Range, ...]]) -> list[int]:
    return [sum(end - start for start, end in ranges) for ranges in of_segments]


def _chosen(ranges: list[Range], device) -> slice | Tensor:
    """One slice if they follow one another, and otherwise each entry."""
    if all(before[1] == behind[0] for before, behind in pairwise(ranges)):
        return slice(ranges[0][0], ranges[-1][1])
    entries = np.concatenate([np.arange(start, end) for start, end in ranges])
    return torch.from_numpy(entries).to(device)


def branch_attention(  # noqa: PLR0913 (the arguments that transformers passes)
    module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask,
    *,
    cascade: Cascade,
    scaling: float | None = None,
    softcap: float | None = None,
    sliding_window: int | None = None,
    s_aux: Tensor | None = None,
    **_,
) -> tuple[Tensor, None]:
    """As transformers calls attention: one row of tokens, heads before tokens."""
    if s_aux is not None:
        raise ValueError("attention sinks are not among the keys")
    q, k, v = (x[0].transpose(0, 1) for x in (query, key, value))
    scale = q.shape[-1] ** -0.5 if scaling is None else scaling
    levels = cascade.levels(sliding_window)
    parts = (
        kernel_for(q, v, level.call, softcap)(
            q[level.rows], k[level.keys], v[level.keys], level.call, scale, softcap
        )
        for level in levels
    )
    out, total = next(parts)  # of the own branches, which are all rows
    for level, part in zip(levels[1:], parts, strict=True):
        _merge(out, total, level.rows, *part)
    return out.to(query.dtype)[None], None


def _merge(out: Tensor, total: Tensor, rows: slice | Tensor, part: Tensor, logsum: Tensor) -> None:
    """Add to some rows what other keys contribute, weighed by the sums of their exponentials."""
    share = torch.sigmoid(logsum - total[rows])[..., None]
    out[rows] = torch.lerp(out[rows].float(), part.float(), share).to(out.dtype)
    total[rows] = torch.logaddexp(total[rows], logsum)


def start_attention(
    module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor,
    *,
    answers,
    scaling: float | None = None,
    softcap: float | None = None,
    **_,
) -> tuple[Tensor, None]:
    """Attend with one query a row to the start that all rows share, whose keys the mask has first, and to its own."""
    layer = answers.current
    rows, heads, _, width = query.shape
    shared, groups = key.shape[1], heads // key.shape[1]
    query = query.reshape(rows, shared, groups, width) * (
        width**-0.5 if scaling is None else scaling
    )
    of_start = _multiply(query.transpose(0, 1).flatten(1, 2), layer.start_keys)
    of_start = of_start.view(shared, rows, groups, -1).transpose(0, 1)
    own = _multiply(query.flatten(0, 1), key.flatten(0, 1)).view(rows, shared, groups, -1)
    scores = torch.cat([of_start, own], dim=-1)
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    weights = (scores.float() + attention_mask).softmax(-1).to(value.dtype)
    of_start, own = weights.split([layer.start_keys.shape[1], key.shape[2]], dim=-1)
    start = of_start.transpose(0, 1).flatten(1, 2) @ layer.start_values
    out = own @ value + start.view(shared, rows, groups, -1).transpose(0, 1)
    return out.reshape(rows, 1, heads, -1), None


def _multiply(query: Tensor, key: Tensor) -> Tensor:
    """Return the products of queries and keys, in float32 where the device can do that."""
    if query.is_cuda and query.dtype in (torch.float16, torch.bfloat16):
        return torch.bmm(query, key.mT, out_dtype=torch.float32)
    return query @ key.mT


@contextmanager
def attending(model, name: str) -> Iterator[None]:
    """Have a model attend in a registered way; then again as before, which need not be its usual way.

    Its config alone is told, which every layer asks at each call. `set_attn_implementation` would walk
    through all modules as well, and this is done around every block of tokens.
    """
    before = model.config._attn_implementation
    model.config._attn_implementation = name
    try:
        yield
    finally:
        model.config._attn_implementation = before


for _name, _attention in ((NAME, branch_attention), (START, start_attention)):
    AttentionInterface.register(_name, _attention)
    AttentionMaskInterface.register(_name, sdpa_mask)
