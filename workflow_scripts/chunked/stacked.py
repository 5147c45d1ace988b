"""Stack the same parameters of k sibling layers as one tensor, stored once, and run layers on it.

The parameters stay one per layer and under the base model's names, so that saving, freezing, LoRA and optimizers work
as usual; but their memory is contiguous, so that the k of them are also one tensor [k, rows, columns].
`StalenessCheck` notices whatever moves or replaces a parameter (`to`, a merge of LoRA, a load), and the stack is built
again.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


class _Join(torch.autograd.Function):
    """Return the stack as a function of its parameters; nothing is copied forward."""

    @staticmethod
    def forward(ctx, stack: Tensor, parameters_per_chunk: int, *parameters: Tensor) -> Tensor:
        ctx.rows = [parameter.shape[0] for parameter in parameters[:parameters_per_chunk]]
        return stack.detach()

    @staticmethod
    def backward(ctx, grad: Tensor):
        pieces = [piece for chunk in grad for piece in chunk.split(ctx.rows)]
        needs = ctx.needs_input_grad[2:]
        return None, None, *(p if need else None for p, need in zip(pieces, needs, strict=True))


class BatchedProduct(torch.autograd.Function):
    """Multiply x [k, n, in] by weight [k, out, in].

    bmm's own gradient of the weight is transposed, and autograd would copy it, a copy of all weights.
    """

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return torch.bmm(x, weight.mT)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor):
        x, weight = ctx.saved_tensors
        for_x, for_weight = ctx.needs_input_grad
        return (
            torch.bmm(grad, weight) if for_x else None,
            torch.bmm(grad.mT, x) if for_weight else None,
        )


class Stack:
    """View one parameter of each of k groups of modules as one tensor [k, rows, ...]."""

    def __init__(self, groups: list[list[nn.Parameter]]):
        """Move the parameters, in order, into one new storage; they stay the same objects."""
        self.per_chunk = len(groups[0])
        self.parameters = [parameter for group in groups for parameter in group]
        first = groups[0][0]
        sizes = [parameter.shape[0] for parameter in groups[0]]
        # The first forward may be under inference_mode; the weights must not become inference tensors.
        with torch.inference_mode(False), torch.no_grad():
            self.storage = first.new_empty((len(groups), sum(sizes), *first.shape[1:]))
            for chunk, group in zip(self.storage, groups, strict=True):
                for parameter, piece in zip(group, chunk.split(sizes), strict=True):
                    piece.copy_(parameter.data)
                    parameter.data = piece

    def join(self) -> Tensor:
        """Return the stack, as a function of its parameters where they need a gradient."""
        if torch.is_grad_enabled() and any(p.requires_grad for p in self.parameters):
            return _Join.apply(self.storage, self.per_chunk, *self.parameters)
        return self.storage


class Siblings:
    """Hold the same children of k sibling layers; several children of one layer make one group."""

    def __init__(self, groups: list[list[nn.Module]]):
        self.modules = groups
        self.weight: Stack | None = None  # None: each is called by itself

    def call_each(self, x: Tensor) -> Tensor:
        outputs = [
            torch.cat([module(row) for module in group], dim=-1)
            for row, group in zip(x, self.modules, strict=True)
        ]
        return torch.stack(outputs)


class Norm(Siblings):
    """Apply the RMS norms of k siblings over the last dimension of x [k, n, size] or [k, n, heads, size]."""

    def __init__(self, groups: list[list[nn.Module]]):
        super().__init__(groups)
        modules = [module for (module,) in self.modules]
        # Its own attribute, not one that a wrapper passes on from what it wraps now.
        if all(is_plain(module) and "variance_epsilon" in vars(module) for module in modules):
            self.eps = modules[0].variance_epsilon
            self.weight = Stack([[module.weight] for module in modules])

    def __call__(self, x: Tensor) -> Tensor:
        if self.weight is None:
            return self.call_each(x)
        weight = self.weight.join()
        weight = weight.unsqueeze(1) if x.dim() == 3 else weight[:, None, None]
        if x.device.type != "cpu":
            return F.rms_norm(x, x.shape[-1:], None, self.eps) * weight
        # On a CPU, F.rms_norm is a dozen kernels.
        wide = x.float()
        norm = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
        return (wide * torch.rsqrt(norm.square() / x.shape[-1] + self.eps)).to(x.dtype) * weight


class Projection(Siblings):
    """Apply the linear layers of k siblings: x [k, n, in] to [k, n, out], those of one sibling concatenated.

    Where one of them is not a plain linear layer (LoRA, quantisation), each is called by itself.
    """

    def __init__(self, groups: list[list[nn.Module]]):
        super().__init__(groups)
        self.bias: Stack | None = None
        layers = [layer for group in self.modules for layer in group]
        have_bias = {getattr(layer, "bias", None) is not None for layer in layers}
        if len(have_bias) > 1 or not all(is_plain(layer, nn.Linear) for layer in layers):
            return
        self.weight = Stack([[layer.weight for layer in group] for group in self.modules])
        if have_bias == {True}:
            self.bias = Stack([[layer.bias for layer in group] for group in self.modules])

    def __call__(self, x: Tensor, onto: Tensor | None = None) -> Tensor:
        """Return the products, added to `onto` where given."""
        weight = None if self.weight is None else self.weight.join()
        bias = None if self.bias is None else self.bias.join()
        casts = x.device.type != "meta" and torch.is_autocast_enabled(x.device.type)
        if weight is None:
            out = self.call_each(x)
        elif len(weight) == 1:
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
        elif onto is not None and not casts:  # which would narrow `onto` too
            return torch.baddbmm(onto, x, weight.mT)
        else:
            out = torch.bmm(x, weight.mT)
        return out if onto is None else out + onto


class StalenessCheck:
    """Notice that a module was replaced, or its parameters were moved, since the stacks were built."""

    def __init__(self, model: nn.Module):
        modules = list(model.modules())
        self._children = [module._modules for module in modules]
        self._parameters = [module._parameters for module in modules]
        self._built = self._describe()

    def _describe(self) -> tuple[list, list[int]]:
        """List the children and the addresses of the parameters, at each forward, so without a call for each."""
        children = [child for modules in self._children for child in modules.values()]
        addresses = [
            parameter.data_ptr()
            for parameters in self._parameters
            for parameter in parameters.values()
            if parameter is not None
        ]
        return children, addresses

    def is_fresh(self) -> bool:
        return self._describe() == self._built


def is_plain(module: nn.Module, kind: type | None = None) -> bool:
    """Return whether a module is of the right class and has no hooks."""
    hooks = module._forward_hooks or module._forward_pre_hooks or module._backward_hooks
    # accelerate moves inputs between devices by `_hf_hook`.
    return not hooks and not hasattr(module, "_hf_hook") and (kind is None or type(module) is kind)


def get_parts(layer: nn.Module) -> tuple[nn.Module, nn.Module, nn.Module]:
    """Return the modules of a layer that are never called where layers are fused."""
    return layer, layer.self_attn, layer.mlp
