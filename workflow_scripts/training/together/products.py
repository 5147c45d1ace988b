"""What low-rank adapters add to a linear layer, where each stretch of a row's tokens has an adapter of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

_ALIGNED = 16  # bytes; what grouped_mm asks of every row


@dataclass(frozen=True)
class Groups:
    """How many of a row's tokens belong to each adapter, in the order of the adapters; some have none."""

    some: slice  # from the first adapter that has some to the last
    sizes: tuple[int, ...]  # of these
    ends: Tensor  # where those of each of these end, int32, where the model is
    without: Tensor | None  # which of these have none

    @classmethod
    def of(cls, sizes: Sequence[int], device: torch.device) -> "Groups":
        having = [slot for slot, size in enumerate(sizes) if size] or [0]
        some = slice(having[0], having[-1] + 1)
        ends = torch.tensor(sizes[some]).cumsum(0).to(torch.int32)
        empty = [at for at, size in enumerate(sizes[some]) if not size]
        without = torch.tensor(empty).to(device, non_blocking=True) if empty else None
        return cls(some, tuple(sizes[some]), ends.to(device, non_blocking=True), without)


@dataclass(frozen=True)
class Stacked:
    """One matrix of every adapter, [adapters, rank, width], and its gradient."""

    values: Tensor
    gradients: Tensor  # to which a pass back adds


def added(
    x: Tensor, down: Stacked, up: Stacked, groups: Groups, scale: float, kept: Tensor | None = None
) -> Tensor:
    """`scale` times x [tokens, in] through each token's own `down` [rank, in] and `up` [rank, out].

    `kept` says which of x take part, as dropout draws it.
    """
    return _Added.apply(x, down.values, up.values, (down, up), groups, scale, kept)


class _Added(torch.autograd.Function):
    """Backward by hand: autograd would keep x once more for each layer that reads it, less what was dropped."""

    @staticmethod
    def forward(ctx, x, of_down, of_up, stacked, groups, scale, kept):
        ctx.stacked, ctx.groups, ctx.scale = stacked, groups, scale
        down, up = stacked
        inner = _to_rank(_of(x, kept), down, groups).mul_(scale)
        ctx.save_for_backward(x, inner, kept)
        return _to_width(inner, up, groups)

    @staticmethod
    @once_differentiable
    def backward(ctx, of_sum):
        (down, up), groups = ctx.stacked, ctx.groups
        x, inner, kept = ctx.saved_tensors
        of_sum = of_sum.contiguous()
        of_inner = _to_rank(of_sum, up, groups).mul_(ctx.scale)
        _add_gradients(up, inner, of_sum, groups)
        _add_gradients(down, of_inner, _of(x, kept), groups)
        of_x = None
        if ctx.needs_input_grad[0]:
            of_x = _of(_to_width(of_inner, down, groups), kept)
        return of_x, *[None] * 6


def _of(x: Tensor, kept: Tensor | None) -> Tensor:
    return x if kept is None else x * kept


def _to_rank(x: Tensor, stacked: Stacked, groups: Groups) -> Tensor:
    """Each row of x, [tokens, width], times its adapter's matrix, turned."""
    matrices = stacked.values[groups.some].to(x.dtype)
    if _fits(matrices, x):
        if _by_columns(x):
            return F.grouped_mm(matrices, x.mT, offs=groups.ends).mT
        return F.grouped_mm(x, matrices.mT, offs=groups.ends)
    parts = zip(x.split(groups.sizes), matrices, strict=True)
    return torch.cat([of_x @ matrix.T for of_x, matrix in parts])


def _to_width(inner: Tensor, stacked: Stacked, groups: Groups) -> Tensor:
    """Each row of `inner`, [tokens, rank], times its adapter's matrix."""
    matrices = stacked.values[groups.some].to(inner.dtype)
    if _fits(matrices, inner):
        return F.grouped_mm(inner, matrices, offs=groups.ends)
    parts = zip(inner.split(groups.sizes), matrices, strict=True)
    return torch.cat([of_inner @ matrix for of_inner, matrix in parts])


def _add_gradients(stacked: Stacked, inner: Tensor, wide: Tensor, groups: Groups) -> None:
    """To that of each adapter's matrix, inner's rows, turned, times wide's."""
    total = stacked.gradients[groups.some]
    if _fits(total, wide):
        found = F.grouped_mm(inner.mT, wide, offs=groups.ends)
        if groups.without is not None:  # nobody promises that sums over no token are written
            found.index_fill_(0, groups.without, 0.0)
        total.add_(found)
        return
    parts = zip(inner.split(groups.sizes), wide.split(groups.sizes), total, strict=True)
    for of_inner, of_wide, of_total in parts:
        of_total += of_inner.T @ of_wide


def _by_columns(x: Tensor) -> bool:
    """Results that lie column by column take a CPU half the time.

    A GPU's kernel would write them wrong: there the first number of each adapter's has to be aligned, and
    tokens are as many as they are.
    """
    return not x.is_cuda


def _fits(matrices: Tensor, x: Tensor) -> bool:
    """Whether one call can do all adapters, in the number format of x; else they are done one by one."""
    aligned = all(n * x.dtype.itemsize % _ALIGNED == 0 for n in matrices.shape[1:])
    if x.is_cuda:
        return aligned and x.dtype == torch.bfloat16 and _is_hopper_or_blackwell()
    return aligned and x.dtype in (torch.bfloat16, torch.float32)


@cache
def _is_hopper_or_blackwell() -> bool:
    """On others PyTorch does them one by one as well, and asks the GPU for the ends, which waits."""
    return torch.cuda.get_device_capability()[0] in (9, 10)
