"""Compute a loss over many rows of hidden states without all their logits in memory.

Logits (rows times vocabulary) are the largest tensor of a small model. The forward pass computes the loss and the
gradients of each piece of rows, and then frees its logits.
"""

import torch


class SumInPieces(torch.autograd.Function):
    """The sum of all losses over all rows.

    `compute_losses` takes some rows of `hidden` and of `others`; gradients flow to `hidden` and `parameters`.
    """

    @staticmethod
    def forward(ctx, compute_losses, hidden, others, rows_at_once, *parameters):
        exact = torch.promote_types(hidden.dtype, torch.float32)
        totals = torch.zeros((), dtype=exact, device=hidden.device)
        gradients = [torch.empty_like(hidden), *map(torch.zeros_like, parameters)]
        pieces = (x.split(rows_at_once) for x in (gradients[0], hidden, *others))
        for gradient, rows, *rest in zip(*pieces, strict=True):
            with torch.enable_grad():
                rows = rows.detach().requires_grad_()
                losses = torch.stack([*compute_losses(rows, *rest)])
                of_rows, *of_parameters = torch.autograd.grad(losses.sum(), [rows, *parameters])
            gradient.copy_(of_rows)
            for total, piece in zip(gradients[1:], of_parameters, strict=True):
                total.add_(piece)
            totals = totals + losses.detach()
        ctx.save_for_backward(*gradients)
        return totals.sum()

    @staticmethod
    def backward(ctx, gradient):
        of_hidden, *of_parameters = (saved * gradient for saved in ctx.saved_tensors)
        return None, of_hidden, None, None, *of_parameters
