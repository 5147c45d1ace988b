"""Attention of segments that stand one behind another, with the log-sum-exp of each row's scores.

All kernels compute the same: `plain` in steps that anyone can read, the others by what PyTorch has for a
device. Tokens come before heads; several query heads may share one of the keys'. A causal segment ends
with its own rows: the last row sees all keys of its segment, the one before it all but the last.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import torch
from torch import Tensor

# Scores that `plain` has in memory at once.
_SCORES = 2**24
# The mask of efficient attention in which rows and keys end together.
_CAUSAL_AT_THE_END = 2
_WIDEST_HEAD = 256


@dataclass(frozen=True)
class Call:
    """The segments of one call: so many rows, and the keys that they look at."""

    rows: list[int]
    keys: list[int]
    causal: bool = False
    window: int | None = None
    device: torch.device | str = "cpu"

    @cached_property
    def row_edges(self) -> Tensor:
        return _edges(self.rows, self.device)

    @cached_property
    def key_edges(self) -> Tensor:
        return _edges(self.keys, self.device)

    @cached_property
    def places(self) -> tuple[Tensor, Tensor]:
        """Of each row the number of its segment, and where in the segment it stands."""
        lengths = torch.tensor(self.rows)
        of_rows = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
        within = torch.arange(len(of_rows)) - (lengths.cumsum(0) - lengths)[of_rows]
        return of_rows.to(self.device), within.to(self.device)

    def segments(self) -> Iterator[tuple[slice, slice]]:
        row = key = 0
        for rows, keys in zip(self.rows, self.keys, strict=True):
            yield slice(row, row + rows), slice(key, key + keys)
            row, key = row + rows, key + keys


Kernel = Callable[[Tensor, Tensor, Tensor, Call, float, float | None], tuple[Tensor, Tensor]]


def _edges(lengths: list[int], device) -> Tensor:
    return torch.tensor([0, *accumulate(lengths)], dtype=torch.int32, device=device)


def plain(
    q: Tensor, k: Tensor, v: Tensor, call: Call, scale: float, softcap: float | None
) -> tuple[Tensor, Tensor]:
    """What the others must compute; and where none of them can, what runs."""
    out = q.new_empty(*q.shape[:2], v.shape[-1])
    logsum = torch.empty(q.shape[:2], dtype=torch.float32, device=q.device)
    for rows, keys in call.segments():
        count, seen = rows.stop - rows.start, keys.stop - keys.start
        some = max(1, _SCORES // (seen * q.shape[1]))
        of_keys, of_values = _for_heads(k[keys]).transpose(1, 2), _for_heads(v[keys])
        for start in range(0, count, some):
            part = slice(rows.start + start, min(rows.start + start + some, rows.stop))
            scores = (_grouped(q[part], k.shape[1]) @ of_keys).float() * scale
            if softcap:
                scores = torch.tanh(scores / softcap) * softcap
            if call.causal:
                # The keys that end with the row itself, of which a window leaves the last.
                last = torch.arange(
                    part.start - rows.start, part.stop - rows.start, device=q.device
                )
                back = (last + seen - count)[:, None] - torch.arange(seen, device=q.device)
                hidden = (back < 0) | (back >= call.window) if call.window else back < 0
                scores = scores.masked_fill(
                    hidden.repeat(q.shape[1] // k.shape[1], 1), float("-inf")
                )
            of_rows = scores.logsumexp(-1)
            weights = (scores - of_rows[..., None]).exp().to(v.dtype)
            out[part] = _ungrouped(weights @ of_values, part.stop - part.start)
            logsum[part] = _ungrouped(of_rows[..., None], part.stop - part.start)[..., 0]
    return out, logsum


def on_cpu(
    q: Tensor, k: Tensor, v: Tensor, call: Call, scale: float, softcap: float | None
) -> tuple[Tensor, Tensor]:
    """PyTorch's flash attention for CPUs, segment by segment."""
    parts = []
    for rows, keys in call.segments():
        count, shared = rows.stop - rows.start, k.shape[1]
        if call.causal:  # rows of different heads cannot stand one behind another
            queries, repeats = q[rows].transpose(0, 1), q.shape[1] // shared
            of_keys, of_values = (_for_heads(x[keys]).repeat_interleave(repeats, 0) for x in (k, v))
        else:
            queries = _grouped(q[rows], shared)
            of_keys, of_values = _for_heads(k[keys]), _for_heads(v[keys])
        out, logsum = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            queries[None], of_keys[None], of_values[None], is_causal=call.causal, scale=scale
        )
        heads = q.shape[1]
        parts.append(
            (
                out[0].reshape(heads, count, -1).transpose(0, 1),
                logsum[0].reshape(heads, count).transpose(0, 1),
            )
        )
    outs, logsums = zip(*parts, strict=True)
    return torch.cat(outs), torch.cat(logsums).float()


def flash(
    q: Tensor, k: Tensor, v: Tensor, call: Call, scale: float, softcap: float | None
) -> tuple[Tensor, Tensor]:
    """Flash attention of segments, as it comes with PyTorch."""
    from torch.nn.attention.varlen import AuxRequest, varlen_attn

    window = (-1, -1)
    if call.causal:
        window = (call.window - 1 if call.window else -1, 0)
    out, logsum = varlen_attn(
        q, k, v, call.row_edges, call.key_edges,
        # With one row a segment the kernel would turn groups of heads into rows.
        max(2, *call.rows), max(call.keys), return_aux=AuxRequest(lse=True), scale=scale,
        window_size=window, enable_gqa=q.shape[1] != k.shape[1],
    )  # fmt: skip
    return out, logsum.transpose(0, 1)


def efficient(
    q: Tensor, k: Tensor, v: Tensor, call: Call, scale: float, softcap: float | None
) -> tuple[Tensor, Tensor]:
    """Memory-efficient attention of segments: for float32, and for cards without flash attention."""
    repeats = q.shape[1] // k.shape[1]
    if repeats > 1:
        k, v = (x.repeat_interleave(repeats, 1) for x in (k, v))
    out, logsum, *_ = torch.ops.aten._efficient_attention_forward(
        q[None], k[None], v[None], None, call.row_edges, call.key_edges, max(call.rows),
        max(call.keys), 0.0, _CAUSAL_AT_THE_END if call.causal else 0, True, scale=scale,
        window_size=call.window,
    )  # fmt: skip
    segment, within = call.places  # what comes is as wide for each segment as for the longest
    return out[0], logsum[segment, :, within]


def kernel_for(q: Tensor, v: Tensor, call: Call, softcap: float | None) -> Kernel:
    """The fastest one that can do it."""
    if softcap or q.shape[-1] != v.shape[-1]:
        return plain
    if q.device.type == "cpu":
        return plain if call.window else on_cpu
    if q.device.type != "cuda":
        return plain
    fits = q.shape[-1] % 8 == 0 and q.shape[-1] <= _WIDEST_HEAD
    half = q.dtype in (torch.float16, torch.bfloat16)
    if fits and half and torch.cuda.get_device_capability(q.device) >= (8, 0):
        return flash
    return efficient


def _for_heads(x: Tensor) -> Tensor:
    return x.transpose(0, 1)


def _grouped(q: Tensor, shared: int) -> Tensor:
    """The rows of all heads that share keys one behind another: [shared, group * rows, width]."""
    rows, heads, width = q.shape
    return q.transpose(0, 1).reshape(shared, heads // shared * rows, width)


def _ungrouped(x: Tensor, rows: int) -> Tensor:
    return x.reshape(-1, rows, x.shape[-1]).transpose(0, 1)
