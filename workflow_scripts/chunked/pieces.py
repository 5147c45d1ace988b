"""A loss over many rows of hidden states, whose logits never lie in memory together.

Logits are the largest thing in memory that a small model makes: rows times vocabulary. Each piece of the rows
has its loss and its gradients made in the same pass, and then its logits are gone.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks


def summed_in_pieces(
    losses_of: Callable[..., Sequence[Tensor]],
    hidden: Tensor,
    beside: Sequence[Tensor],
    at_once: int,
    parameters: Sequence[Tensor],
) -> tuple[Tensor, Tensor]:
    """The sum of all losses over all rows, and each of them by itself, which is for people to read.

    `losses_of` gives the losses of some rows and what lies beside them; the gradients are those of `hidden` and
    of the parameters that it uses.
    """
    return _InPieces.apply(losses_of, hidden, beside, at_once, *parameters)


def _as_it_is(tensor: Tensor) -> Tensor:
    return tensor


class _InPieces(torch.autograd.Function):
    @staticmethod
    def forward(ctx, losses_of, hidden, beside, at_once, *parameters):
        exact = torch.promote_types(hidden.dtype, torch.float32)
        totals = torch.zeros((), dtype=exact, device=hidden.device)
        of_hidden = torch.empty_like(hidden)
        of_parameters = [torch.zeros_like(parameter) for parameter in parameters]
        pieces = (x.split(at_once) for x in (of_hidden, hidden, *beside))
        for gradient, some, *others in zip(*pieces, strict=True):
            # What a piece keeps is gone before the next: nothing for whoever watches what a step keeps.
            with torch.enable_grad(), saved_tensors_hooks(_as_it_is, _as_it_is):
                some = some.detach().requires_grad_()
                losses = torch.stack([*losses_of(some, *others)])
                found, *more = torch.autograd.grad(losses.sum(), [some, *parameters])
            gradient.copy_(found)
            for sum_of_pieces, other in zip(of_parameters, more, strict=True):
                sum_of_pieces.add_(other)
            totals = totals + losses.detach()
        ctx.save_for_backward(of_hidden, *of_parameters)
        ctx.mark_non_differentiable(totals)
        return totals.sum(), totals

    @staticmethod
    def backward(ctx, gradient, _):
        of_hidden, *of_parameters = (found * gradient for found in ctx.saved_tensors)
        return None, of_hidden, None, None, *of_parameters
