"""What low-rank adapters add to a linear layer, where each stretch of a row's tokens has an adapter of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

_ALIGNED = 16  # bytes; what grouped_mm asks of every row


@dataclass(frozen=True)
class Groups:
    """How many of a row's tokens belong to each adapter, in the order of the adapters; some have none."""

    slots: tuple[int, ...]  # the adapters that have some, and of each how many
    sizes: tuple[int, ...]
    ends: Tensor  # where those of each adapter end, int32, where the model is

    @classmethod
    def of(cls, sizes: Sequence[int], device: torch.device) -> "Groups":
        slots = tuple(slot for slot, size in enumerate(sizes) if size)
        ends = torch.tensor(sizes).cumsum(0).to(torch.int32)
        return cls(slots, tuple(sizes[slot] for slot in slots), ends.to(device, non_blocking=True))


@dataclass(frozen=True)
class Stacked:
    """One matrix of every adapter, [adapters, rank, width], and its gradient."""

    values: Tensor
    gradients: Tensor  # to which a pass back adds

    @cached_property
    def each(self) -> tuple[Tensor, ...]:
        """The matrices one by one, in the same memory."""
        return self.values.detach().unbind()

    @cached_property
    def gradient_of_each(self) -> tuple[Tensor, ...]:
        return self.gradients.unbind()


def added(
    x: Tensor,
    down: Stacked,
    up: Stacked,
    groups: Groups,
    scale: float,
    kept: Tensor | None = None,
) -> Tensor:
    """`scale` times x [tokens, in] through each token's own `down` [rank, in] and `up` [rank, out].

    `kept` says which of x take part, as dropout draws it.
    """
    return _Added.apply(x, down.values, up.values, down, up, groups, scale, kept)


class _Added(torch.autograd.Function):
    """Backward by hand: autograd would keep x once more for each layer that reads it, less what was dropped."""

    @staticmethod
    def forward(ctx, x, of_down, of_up, down, up, groups, scale, kept):
        ctx.stacked, ctx.groups, ctx.scale = (down, up), groups, scale
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
        return of_x, *[None] * 7


def _of(x: Tensor, kept: Tensor | None) -> Tensor:
    return x if kept is None else x * kept


def _to_rank(x: Tensor, stacked: Stacked, groups: Groups) -> Tensor:
    """Each row of x, [tokens, width], times its adapter's matrix, turned.

    One by one the results are made column by column, which takes a CPU half the time.
    """
    if _fits(x, stacked.values):
        return F.grouped_mm(x, stacked.values.to(x.dtype).mT, offs=groups.ends)
    result = x.new_empty(stacked.values.shape[1], len(x))
    parts = zip(groups.slots, x.split(groups.sizes), result.split(groups.sizes, 1), strict=True)
    for slot, of_x, out in parts:
        torch.mm(stacked.each[slot].to(x.dtype), of_x.T, out=out)
    return result.T


def _to_width(inner: Tensor, stacked: Stacked, groups: Groups) -> Tensor:
    """Each row of `inner`, [tokens, rank], times its adapter's matrix."""
    if _fits(inner, stacked.values):
        return F.grouped_mm(inner, stacked.values.to(inner.dtype), offs=groups.ends)
    result = inner.new_empty(len(inner), stacked.values.shape[2])
    parts = zip(groups.slots, inner.split(groups.sizes), result.split(groups.sizes), strict=True)
    for slot, of_inner, out in parts:
        torch.mm(of_inner, stacked.each[slot].to(inner.dtype), out=out)
    return result


def _add_gradients(stacked: Stacked, inner: Tensor, wide: Tensor, groups: Groups) -> None:
    """To that of each adapter's matrix, inner's rows, turned, times wide's."""
    if _fits(inner, wide):
        stacked.gradients.add_(F.grouped_mm(inner.mT, wide, offs=groups.ends))
        return
    parts = zip(groups.slots, inner.split(groups.sizes), wide.split(groups.sizes), strict=True)
    for slot, of_inner, of_wide in parts:
        stacked.gradient_of_each[slot].add_(of_inner.T @ of_wide)


def _fits(*tensors: Tensor) -> bool:
    """One call for all adapters, where a GPU has it; one by one is as fast on a CPU."""
    return all(
        tensor.is_cuda
        and tensor.dtype in (torch.bfloat16, torch.float32)
        and all(n * tensor.element_size() % _ALIGNED == 0 for n in tensor.shape[-2:])
        for tensor in tensors
    )
