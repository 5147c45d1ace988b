"""Attention for one new token a row on a CPU, where starting a kernel costs more than its sums.

In general it takes a dozen small kernels for turning and attending; this takes six, most of
them batched products, which are hot already. Same results, in another order of summing.
"""

import torch
from torch import Tensor


def turning_matrix(position_embeddings: tuple[Tensor, Tensor]) -> Tensor:
    """Rotary embedding as a product: x @ matrix turns x; [b or 1, d, d] for one position a row."""
    cos, sin = position_embeddings
    half = cos.shape[-1] // 2
    signed = torch.cat((-sin[..., :half], sin[..., half:]), dim=-1)
    eye = torch.eye(2 * half, dtype=cos.dtype, device=cos.device)
    return eye * cos + eye.roll(half, dims=0) * signed


def turn(qkv: Tensor, matrix: Tensor, heads: int, key_heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """From [k, b, heads, d] the turned queries and keys, and the values, as [b, k * heads, 1, d]."""
    _k, rows, _, d = qkv.shape
    turned = torch.matmul(qkv[:, :, : heads + key_heads], matrix[0] if len(matrix) == 1 else matrix)
    pieces = turned[:, :, :heads], turned[:, :, heads:], qkv[:, :, heads + key_heads :]
    if rows == 1:
        return tuple(piece.reshape(1, -1, 1, d) for piece in pieces)
    return tuple(piece.transpose(0, 1).reshape(rows, -1, 1, d) for piece in pieces)


def attend(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, scale: float
) -> Tensor:
    """queries [b, heads, 1, d], keys and values [b, fewer heads, T, d], to [b, 1, heads, d]."""
    rows, heads, _, d = queries.shape
    groups, seen = keys.shape[1:3]
    queries = queries.reshape(rows * groups, heads // groups, d)
    keys, values = (x.reshape(rows * groups, seen, d) for x in (keys, values))
    scores = torch.baddbmm(queries.new_zeros(1), queries, keys.mT, beta=0, alpha=scale)
    if mask is not None:
        scores = _masked(scores.view(rows, groups, -1, seen), mask[..., :seen]).view_as(scores)
    out = torch.bmm(scores.softmax(dim=-1), values)
    return out.view(rows, 1, heads, d)


def _masked(scores: Tensor, mask: Tensor) -> Tensor:
    if mask.dtype == torch.bool:
        return scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores + mask
