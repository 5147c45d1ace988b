"""The same parameters of k sibling layers as one tensor, stored once; and norms that use it.

The parameters stay what they are, one per layer and under the base model's names, so that saving,
freezing, LoRA and optimisers need know nothing of this; but their memory is moved side by side, so
that the k of them are also one tensor [k, rows, columns]. Whatever moves or replaces a parameter
(`to`, a merge of LoRA, a load) is noticed by `Watch`, and the stack is made again.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

Child = tuple[nn.Module, str]  # a child by its parent and name: what stands there may be replaced


class _Join(torch.autograd.Function):
    """The stack as a function of the parameters that lie in it; nothing is copied forward."""

    @staticmethod
    def forward(ctx, stack: Tensor, parameters_per_chunk: int, *parameters: Tensor) -> Tensor:
        ctx.rows = [parameter.shape[0] for parameter in parameters[:parameters_per_chunk]]
        return stack.detach()

    @staticmethod
    def backward(ctx, grad: Tensor):
        pieces = [piece for chunk in grad for piece in chunk.split(ctx.rows)]
        wanted = ctx.needs_input_grad[2:]
        return None, None, *(p if need else None for p, need in zip(pieces, wanted, strict=True))


class BatchedProduct(torch.autograd.Function):
    """x [k, n, in] by weight [k, out, in]; bmm's own gradient of the weight comes out turned, and
    autograd would copy it, a copy of all weights, to turn it back."""

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
    """One parameter of each of k groups of modules, seen as one tensor [k, rows, ...]."""

    def __init__(self, groups: list[list[nn.Parameter]]):
        self.per_chunk = len(groups[0])
        self.parameters = [parameter for group in groups for parameter in group]
        self.storage = _side_by_side(groups)

    def joined(self) -> Tensor:
        """The stack, as a function of its parameters where they want a gradient now."""
        if torch.is_grad_enabled() and any(p.requires_grad for p in self.parameters):
            return _Join.apply(self.storage, self.per_chunk, *self.parameters)
        return self.storage


def _side_by_side(groups: list[list[nn.Parameter]]) -> Tensor:
    """Move the parameters, in order, into one new storage; they stay the same objects."""
    first = groups[0][0]
    rows = sum(parameter.shape[0] for parameter in groups[0])
    # The first forward may be under inference_mode; the weights must not become inference tensors.
    with torch.inference_mode(False), torch.no_grad():
        storage = first.new_empty((len(groups), rows, *first.shape[1:]))
        for chunk, group in zip(storage, groups, strict=True):
            pieces = chunk.split([parameter.shape[0] for parameter in group])
            for parameter, piece in zip(group, pieces, strict=True):
                piece.copy_(parameter.data)
                parameter.data = piece
    return storage


class Siblings:
    """The same children of k sibling layers; several children of one layer make one group."""

    def __init__(self, groups: Sequence[Sequence[Child]]):
        self.groups = groups
        self.prepare()

    def modules(self) -> list[list[nn.Module]]:
        return [[getattr(parent, name) for parent, name in group] for group in self.groups]

    def prepare(self) -> None:
        """Lay the parameters side by side, again whenever one was moved or replaced."""
        raise NotImplementedError

    def places(self) -> list[Child]:
        """What may be replaced, and holds the parameters."""
        return [place for group in self.groups for place in group]


class Norm(Siblings):
    """RMS norms of k siblings over the last dimension of x [k, n, size] or [k, n, heads, size]."""

    def prepare(self) -> None:
        self.weight: Stack | None = None  # None: each is called by itself
        modules = [module for (module,) in self.modules()]
        # Its own attribute, not one that a wrapper passes on from what it wraps now.
        if not all(is_plain(one) and "variance_epsilon" in vars(one) for one in modules):
            return
        self.eps = modules[0].variance_epsilon
        self.eps_ = torch.full((1,), self.eps, dtype=torch.float32, device="cpu")
        self.weight = Stack([[module.weight] for module in modules])

    def __call__(self, x: Tensor) -> Tensor:
        if self.weight is None:
            return torch.stack([m(one) for one, (m,) in zip(x, self.modules(), strict=True)])
        weight = self.weight.joined()
        weight = weight.unsqueeze(1) if x.dim() == 3 else weight[:, None, None]
        if x.device.type != "cpu":
            return F.rms_norm(x, x.shape[-1:], None, self.eps) * weight
        # On a CPU, F.rms_norm is a dozen kernels.
        if x.dtype == torch.float32 and x.shape[1] == 1 and x.dim() == 3:
            return x * torch.baddbmm(self.eps_, x, x.mT, alpha=1 / x.shape[-1]).rsqrt_() * weight
        wide = x.float()
        norm = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
        return (wide * torch.rsqrt(norm.square() / x.shape[-1] + self.eps)).to(x.dtype) * weight


class Watch:
    """Notices that a module was replaced, or its parameters were moved, since the stacks were made;
    and that a dictionary of modules, as PEFT keeps adapters in, has got one more."""

    def __init__(self, siblings: Sequence[Siblings], also: Sequence[Child] = ()):
        places = [*also, *(place for one in siblings for place in one.places())]
        self._children = [(p._modules, name, p._modules[name]) for p, name in places]
        kept = {id(p): p._modules for p, _ in places if isinstance(p, nn.ModuleDict)}
        self._sizes = [(children, len(children)) for children in kept.values()]
        self._parameters = [
            (child._parameters, key, 0 if parameter is None else parameter.data_ptr())
            for one in siblings
            for parent, name in one.places()
            for child in (parent._modules[name],)
            for key, parameter in child._parameters.items()
        ]

    def all_in_place(self) -> bool:
        # At each forward: these loops cost half of what all() over generators does.
        for children, name, child in self._children:
            if children.get(name) is not child:
                return False
        for children, size in self._sizes:
            if len(children) != size:
                return False
        for parameters, key, address in self._parameters:
            parameter = parameters.get(key)
            if (0 if parameter is None else parameter.data_ptr()) != address:
                return False
        return True


def autocasts(x: Tensor) -> bool:
    return x.device.type != "meta" and torch.is_autocast_enabled(x.device.type)


def is_plain(module: nn.Module, kind: type | None = None) -> bool:
    """Nothing of its own happens when it is called: the right class, and no hooks."""
    hooks = module._forward_hooks or module._forward_pre_hooks or module._backward_hooks
    return not hooks and (kind is None or type(module) is kind)


def kinds_of(layer: nn.Module) -> tuple[type, ...]:
    return tuple(type(module) for module in (layer, layer.self_attn, layer.mlp))


def has_hooks(layer: nn.Module) -> bool:
    # accelerate moves inputs between devices by `_hf_hook`.
    return any(
        hasattr(module, "_hf_hook") or module._forward_hooks or module._forward_pre_hooks
        for module in (layer, layer.self_attn, layer.mlp)
    )
