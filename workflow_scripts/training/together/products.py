"""What low-rank adapters add to a linear layer, where each stretch of a row's tokens has an adapter of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

_ALIGNED = 16  # bytes; what grouped_mm asks of every row


@dataclass(frozen=True)
class Groups:
    """How many of a row's tokens belong to each adapter, in the order of the adapters; some have none."""

    sizes: tuple[int, ...]
    ends: Tensor  # where each ends, int32, where the model is

    @classmethod
    def of(cls, sizes: Sequence[int], device: torch.device) -> "Groups":
        ends = torch.tensor(sizes).cumsum(0).to(torch.int32)
        return cls(tuple(sizes), ends.to(device, non_blocking=True))


@dataclass(frozen=True)
class Stacked:
    """One matrix of every adapter, [adapters, to, from], as linear layers keep theirs, and its gradient."""

    values: Tensor
    gradients: Tensor  # to which a pass back adds


def added(
    x: Tensor,
    down: Stacked,
    up: Stacked,
    groups: Groups,
    scale: float,
    kept: Tensor | None = None,
) -> Tensor:
    """`scale` times x [tokens, in] through each token's own `down` [in to rank] and `up` [rank to out].

    `kept` says which of x take part, as dropout draws it.
    """
    return _Added.apply(x, down.values, up.values, down, up, groups, scale, kept)


class _Added(torch.autograd.Function):
    """Backward by hand: autograd would keep x once more for each layer that reads it, less what was dropped."""

    @staticmethod
    def forward(ctx, x, of_down, of_up, down, up, groups, scale, kept):
        ctx.stacked, ctx.groups, ctx.scale = (down, up), groups, scale
        inner = _product(_of(x, kept), of_down.to(x.dtype).mT, groups).mul_(scale)
        ctx.save_for_backward(x, of_down, of_up, inner, kept)
        return _product(inner, of_up.to(x.dtype).mT, groups)

    @staticmethod
    @once_differentiable
    def backward(ctx, of_sum):
        (down, up), groups = ctx.stacked, ctx.groups
        x, of_down, of_up, inner, kept = ctx.saved_tensors
        of_sum = of_sum.contiguous()
        of_inner = _product(of_sum, of_up.to(x.dtype), groups).mul_(ctx.scale)
        _add_outer(up.gradients, of_sum, inner, groups)
        _add_outer(down.gradients, of_inner, _of(x, kept), groups)
        of_x = None
        if ctx.needs_input_grad[0]:
            of_x = _of(_product(of_inner, of_down.to(x.dtype), groups), kept)
        return of_x, *[None] * 7


def _of(x: Tensor, kept: Tensor | None) -> Tensor:
    return x if kept is None else torch.where(kept, x, 0)


def _product(x: Tensor, weights: Tensor, groups: Groups) -> Tensor:
    """Each row of x times its group's matrix."""
    if _fits(x, weights):
        return F.grouped_mm(x, weights, offs=groups.ends)
    result = x.new_empty(len(x), weights.shape[-1])
    parts = zip(x.split(groups.sizes), weights.unbind(), result.split(groups.sizes), strict=True)
    for of_x, weight, out in parts:
        if len(of_x):
            torch.mm(of_x, weight, out=out)
    return result


def _add_outer(total: Tensor, left: Tensor, right: Tensor, groups: Groups) -> None:
    """To each group's matrix, left's rows, turned, times right's."""
    if _fits(left, right):
        total += F.grouped_mm(left.mT, right, offs=groups.ends)
        return
    parts = zip(left.split(groups.sizes), right.split(groups.sizes), total.unbind(), strict=True)
    for of_left, of_right, of_total in parts:
        if len(of_left) and left.dtype == total.dtype:
            of_total.addmm_(of_left.T, of_right)
        elif len(of_left):
            of_total += of_left.T @ of_right


def _fits(*tensors: Tensor) -> bool:
    """One call for all groups, where a GPU has it; a loop over them is as fast on a CPU."""
    return all(
        tensor.is_cuda
        and tensor.dtype in (torch.bfloat16, torch.float32)
        and all(n * tensor.element_size() % _ALIGNED == 0 for n in tensor.shape[-2:])
        for tensor in tensors
    )
