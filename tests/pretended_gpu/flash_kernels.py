"""The package flash-attn for the pretended GPU: its functions as its documentation has them, by plain sums.

They take 16 bits and no masks, as the real ones do; `calls` counts them by name.
"""

from collections import Counter

import torch
from torch import Tensor

calls: Counter[str] = Counter()


def flash_attn_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes=None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Tensor:
    """Rows, tokens, heads, width; where there are more keys than queries both end together."""
    calls["flash_attn_func"] += 1
    options = (softmax_scale, causal, window_size, softcap)
    return torch.stack([_attend(*row, *options) for row in zip(q, k, v, strict=True)])


def flash_attn_varlen_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes=None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
    block_table=None,
) -> Tensor:
    """Tokens of all rows one behind another, cut at the given ends."""
    calls["flash_attn_varlen_func"] += 1
    assert cu_seqlens_q.dtype == cu_seqlens_k.dtype == torch.int32
    options = (softmax_scale, causal, window_size, softcap)
    rows = zip(*(x.unfold(0, 2, 1).tolist() for x in (cu_seqlens_q, cu_seqlens_k)), strict=True)
    return torch.cat([_attend(q[a:b], k[c:d], v[c:d], *options) for (a, b), (c, d) in rows])


def flash_attn_with_kvcache(*arguments, **options) -> Tensor:
    raise RuntimeError("Nothing here keeps its cache in blocks.")


def _attend(q, k, v, scale, causal, window, softcap) -> Tensor:
    if not q.dtype == k.dtype == v.dtype or q.dtype not in (torch.float16, torch.bfloat16):
        raise RuntimeError("FlashAttention only support fp16 and bf16 data type")
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for x in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q.float(), k.float())
    scores = scores * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    back = torch.arange(len(k) - len(q), len(k))[:, None] - torch.arange(len(k))
    hidden = (back < 0) & causal
    if window[0] >= 0:
        hidden = hidden | (back > window[0])
    scores = scores.masked_fill(hidden.to(q.device), -torch.inf)
    return torch.einsum("hqk,khd->qhd", scores.softmax(-1), v.float()).to(q.dtype)
