"""Stack the same parameter of k sibling layers as one tensor, stored once, and run layers on it.

Each layer keeps its own parameters under the base model's names, so that saving, freezing, LoRA and optimizers work
as usual; but their memory is contiguous, so that k parameters are also one tensor [k, rows, columns].
`StalenessCheck` detects any move or replacement of a parameter (`to`, a LoRA merge, a load), and the stack is rebuilt.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


class _ConnectToParameters(torch.autograd.Function):
    """The stack as a function of its parameters, so that they get gradients; the forward pass copies nothing."""

    @staticmethod
    def forward(ctx, stack: Tensor, rows: list[int], *parameters: Tensor) -> Tensor:
        ctx.rows = rows
        return stack.detach()

    @staticmethod
    def backward(ctx, grad: Tensor):
        gradients = [gradient for group in grad for gradient in group.split(ctx.rows)]
        needs = ctx.needs_input_grad[2:]
        return None, None, *(g if need else None for g, need in zip(gradients, needs, strict=True))


class BatchedProduct(torch.autograd.Function):
    """The product of x [k, n, in] and weight [k, out, in].

    The weight gradient of bmm is transposed, so autograd would copy it, which is a copy of all weights.
    """

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return torch.bmm(x, weight.mT)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor):
        x, weight = ctx.saved_tensors
        needs_x, needs_weight = ctx.needs_input_grad
        return (
            torch.bmm(grad, weight) if needs_x else None,
            torch.bmm(grad.mT, x) if needs_weight else None,
        )


class Stack:
    """A view of the parameters of k groups of modules as one tensor [k, rows, ...]."""

    def __init__(self, groups: list[list[nn.Parameter]]):
        """Move the data of the parameters, in order, to one new storage; the parameter objects stay the same."""
        self.parameters = [parameter for group in groups for parameter in group]
        self.rows = [parameter.shape[0] for parameter in groups[0]]
        first = groups[0][0]
        # The first forward may run in inference_mode, but the weights must not become inference tensors.
        with torch.inference_mode(False), torch.no_grad():
            self.storage = first.new_empty((len(groups), sum(self.rows), *first.shape[1:]))
            for storage, group in zip(self.storage, groups, strict=True):
                for parameter, view in zip(group, storage.split(self.rows), strict=True):
                    view.copy_(parameter.data)
                    parameter.data = view

    def get_tensor(self) -> Tensor:
        """Return the stack, connected to its parameters in autograd if they need a gradient."""
        if torch.is_grad_enabled() and any(p.requires_grad for p in self.parameters):
            return _ConnectToParameters.apply(self.storage, self.rows, *self.parameters)
        return self.storage


class Norm:
    """The RMS norms of k siblings, over the last dimension of x [k, n, size] or [k, n, heads, size]."""

    def __init__(self, groups: list[list[nn.Module]]):
        self.eps = groups[0][0].variance_epsilon
        self.weight = Stack([[module.weight for module in group] for group in groups])

    def __call__(self, x: Tensor) -> Tensor:
        weight = self.weight.get_tensor()
        weight = weight.unsqueeze(1) if x.dim() == 3 else weight[:, None, None]
        if x.device.type != "cpu":
            return F.rms_norm(x, x.shape[-1:], None, self.eps) * weight
        # On a CPU, F.rms_norm runs a dozen kernels.
        x_float32 = x.float()
        norm = torch.linalg.vector_norm(x_float32, dim=-1, keepdim=True)
        scale = torch.rsqrt(norm.square() / x.shape[-1] + self.eps)
        return (x_float32 * scale).to(x.dtype) * weight


class Projection:
    """The linear layers of k siblings, from x [k, n, in] to [k, n, out]; outputs of a sibling are concatenated."""

    def __init__(self, groups: list[list[nn.Linear]]):
        self.weight = Stack([[layer.weight for layer in group] for group in groups])
        self.bias: Stack | None = None
        if groups[0][0].bias is not None:
            self.bias = Stack([[layer.bias for layer in group] for group in groups])

    def __call__(self, x: Tensor, residual: Tensor | None = None) -> Tensor:
        """Return the outputs of the layers, added to `residual` if given."""
        weight = self.weight.get_tensor()
        bias = None if self.bias is None else self.bias.get_tensor()
        casts = x.device.type != "meta" and torch.is_autocast_enabled(x.device.type)
        if len(weight) == 1:
            out = F.linear(x[0], weight[0], None if bias is None else bias[0]).unsqueeze(0)
        elif torch.is_grad_enabled():
            if casts:
                dtype = torch.get_autocast_dtype(x.device.type)
                x, weight = x.to(dtype), weight.to(dtype)
            out = BatchedProduct.apply(x, weight)
            if bias is not None:
                out = out + bias.unsqueeze(1).to(out.dtype)
        elif bias is not None:
            out = torch.baddbmm(bias.unsqueeze(1), x, weight.mT)
        elif (
            residual is not None and not casts
        ):  # autocast would also lower the precision of `residual`
            return torch.baddbmm(residual, x, weight.mT)
        else:
            out = torch.bmm(x, weight.mT)
        return out if residual is None else out + residual


class StalenessCheck:
    """A check whether a module was replaced, or its parameters moved, since the stacks were built."""

    def __init__(self, model: nn.Module):
        modules = list(model.modules())
        self._children = [module._modules for module in modules]
        self._parameters = [module._parameters for module in modules]
        self._initial = self._describe()

    def _describe(self) -> tuple[list, list[int]]:
        """List child modules and parameter addresses; runs at each forward, so it avoids a call per module."""
        children = [child for modules in self._children for child in modules.values()]
        addresses = [
            parameter.data_ptr()
            for parameters in self._parameters
            for parameter in parameters.values()
            if parameter is not None
        ]
        return children, addresses

    def is_fresh(self) -> bool:
        return self._describe() == self._initial


def has_hooks(module: nn.Module) -> bool:
    hooks = module._forward_hooks or module._forward_pre_hooks or module._backward_hooks
    # accelerate uses `_hf_hook` to move inputs between devices.
    return bool(hooks) or hasattr(module, "_hf_hook")
