"""Compute a loss over many rows of hidden states block by block, without all their logits in memory.

Logits (rows times vocabulary) are the largest tensor of a small model. The forward pass computes the loss and the
gradients of each block of rows, and then frees its logits.
"""

import torch


class BlockwiseLoss(torch.autograd.Function):
    """The sum of all losses over all rows.

    `compute_losses` maps a block of the rows of `hidden` and of each of `others` to a list of summed losses; gradients
    flow to `hidden` and `parameters`.
    """

    @staticmethod
    def forward(ctx, compute_losses, hidden, others, rows_per_block, *parameters):
        dtype = torch.promote_types(hidden.dtype, torch.float32)
        totals = torch.zeros((), dtype=dtype, device=hidden.device)
        hidden_gradient = torch.empty_like(hidden)
        parameter_gradients = [*map(torch.zeros_like, parameters)]
        blocks = (x.split(rows_per_block) for x in (hidden_gradient, hidden, *others))
        for gradient_block, block, *other_blocks in zip(*blocks, strict=True):
            with torch.enable_grad():
                block = block.detach().requires_grad_()
                losses = torch.stack([*compute_losses(block, *other_blocks)])
                first, *rest = torch.autograd.grad(losses.sum(), [block, *parameters])
            gradient_block.copy_(first)
            for total, gradient in zip(parameter_gradients, rest, strict=True):
                total.add_(gradient)
            totals = totals + losses.detach()
        ctx.save_for_backward(hidden_gradient, *parameter_gradients)
        return totals.sum()

    @staticmethod
    def backward(ctx, gradient):
        for_hidden, *for_parameters = (saved * gradient for saved in ctx.saved_tensors)
        return None, for_hidden, None, None, *for_parameters
