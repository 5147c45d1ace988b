"""LoRA in k sibling layers: the products of all its matrices as batches, beside those of the layers.

The matrices stay PEFT's own parameters, laid side by side as the layers' weights are. What is known
here is PEFT's plain LoRA, one adapter at a time; whatever else PEFT has is left to PEFT.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from workflow_scripts.chunked.stacked import BatchedProduct, Child, Stack, autocasts, is_plain


@dataclass(frozen=True)
class Layout:
    """Where the linear layers of a projection that have the adapter find what is theirs."""

    widths: tuple[int, ...]  # of the outputs of all linear layers
    having: tuple[int, ...]  # which of these have the adapter
    rank: int

    def of_outputs(self, out: Tensor) -> list[Tensor]:
        pieces = _split(out, self.widths, dim=2)
        return [pieces[at] for at in self.having]

    def of_inner(self, inner: Tensor) -> Sequence[Tensor]:
        return _split(inner, (self.rank,) * len(self.having), dim=2)

    def of_up(self, up: Tensor) -> Sequence[Tensor]:
        return _split(up, tuple(self.widths[at] for at in self.having), dim=1)


def _split(x: Tensor, sizes: tuple[int, ...], dim: int) -> Sequence[Tensor]:
    # For one new token a view costs as much as a product.
    return (x,) if len(sizes) == 1 else x.split(sizes, dim=dim)


class LoraAdapter:
    """One adapter of those linear layers of a projection that have it, the same ones in k siblings.

    The first matrices share their input and are one product. The second ones differ in their outputs
    (queries and keys), so each is a batched product of its own, three at most, added in place to the
    outputs of its layer. One product for all would need zeros around them, and with the zeros the
    parameters would be no longer whole pieces of memory, as saving asks them to be.
    """

    def __init__(self, name: str, groups: list[list[Any]], widths: tuple[int, ...]):
        having = tuple(at for at, module in enumerate(groups[0]) if _has(module, name))
        chosen = [[group[at] for at in having] for group in groups]
        self.name = name
        self.layers = [layer for group in chosen for layer in group]
        self.dropouts = [layer.lora_dropout[name] for layer in self.layers]
        self.down = Stack([[layer.lora_A[name].weight for layer in group] for group in chosen])
        self.up = Stack([[layer.lora_B[name].weight for layer in group] for group in chosen])
        self.layout = Layout(widths, having, self.up.storage.shape[-1])
        # PEFT keeps adapters in float32 over weights in 16 bits.
        self.is_wider = self.layers[0].base_layer.weight.dtype != self.up.storage.dtype

    def chances(self) -> set[float]:
        """With which each number of the input is dropped now; more than one if layers differ."""
        return {
            one.p if one.training and isinstance(one, nn.Dropout) else 0.0 for one in self.dropouts
        }

    def inner(self, x: Tensor) -> Tensor:
        """From x [k, n, in] what the first matrices give, scaled: [k, n, layers * rank]."""
        down = self.down.joined().to(x.dtype)
        (chance,) = self.chances()
        if chance == 0:
            return _product(x, down) * self._scaling(x)
        # Each layer draws for itself what it drops, so the input is no longer one for all.
        k, n, width = x.shape
        own = F.dropout(x.unsqueeze(1).expand(k, len(self.layout.having), n, width), chance)
        inner = _product(own.flatten(0, 1), down.reshape(-1, self.layout.rank, width))
        inner = inner.view(k, -1, n, self.layout.rank).transpose(1, 2).flatten(2)
        return inner * self._scaling(x)

    def add_to(self, out: Tensor, x: Tensor) -> None:
        """Without gradients: add to the outputs [k, n, out] of the layers.

        As PEFT does, in the format of the adapter's matrices, unless there is autocast.
        """
        sums = out if autocasts(x) or not self.is_wider else out.to(self.up.storage.dtype)
        up = self.up.storage.to(sums.dtype)
        add_products(sums, self.inner(x.to(sums.dtype)), up, self.layout)
        if sums is not out:
            out.copy_(sums)

    def _scaling(self, x: Tensor) -> float | Tensor:
        scales = [layer.scaling[self.name] for layer in self.layers]
        if scales.count(scales[0]) == len(scales):
            return scales[0]
        scale = torch.tensor(scales, dtype=x.dtype, device=x.device).view(len(x), 1, -1)
        return scale.repeat_interleave(self.layout.rank, dim=-1)


class LoraAdapters:
    """All adapters of a projection: which of them counts is looked up at each call, since PEFT switches,
    scales, merges and disables adapters without replacing a module."""

    def __init__(self, groups: list[list[nn.Module]]):
        self.layers: list[Any] = [one for group in groups for one in group if is_lora(one)]
        names = {name for layer in self.layers for name in layer.lora_A}
        found = {name: _adapter(name, groups) for name in sorted(names)}
        self.by_name = {name: one for name, one in found.items() if one is not None}

    def now(self, x: Tensor) -> tuple[bool, LoraAdapter | None]:
        """Whether the linear layers may run as one product, and the adapter to be added to it."""
        active: Any = None
        off = merged = False
        for layer in self.layers:
            if active is None:
                active, off = layer._active_adapter, layer._disable_adapters
                merged = bool(layer.merged_adapters)
            elif (
                layer._active_adapter != active
                or layer._disable_adapters != off
                or bool(layer.merged_adapters) != merged
            ):
                return False, None
            # PEFT gives a batch of mixed adapters to its layers by hooks.
            if layer._forward_pre_hooks or layer._forward_hooks:
                return False, None
        if off or merged:  # Both: PEFT's layers take the adapter out of the weights when called.
            return off != merged, None
        names = [active] if isinstance(active, str) else active
        adapter = self.by_name.get(names[0]) if len(names) == 1 else None
        if adapter is None:
            return False, None
        if adapter.is_wider and torch.is_grad_enabled() and not autocasts(x):
            return False, None  # with gradients, all is calculated in one format
        return len(adapter.chances()) == 1, adapter

    def places(self) -> list[Child]:
        kept = ("lora_A", "lora_B", "lora_dropout")
        return [
            *((layer, "base_layer") for layer in self.layers),
            *(
                (children, name)
                for layer in self.layers
                for children in (getattr(layer, one) for one in kept)
                for name in children
            ),
        ]


class AdaptedProduct(torch.autograd.Function):
    """x [k, n, in] by weight [k, out, in], and to it the products of an adapter's second matrices;
    in one function, so that they are added in place."""

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, inner: Tensor, up: Tensor, layout: Layout):
        ctx.save_for_backward(x, weight, inner, up)
        ctx.layout = layout
        out = torch.bmm(x, weight.mT)
        add_products(out, inner, up, layout)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor):
        x, weight, inner, up = ctx.saved_tensors
        layout: Layout = ctx.layout
        wanted = ctx.needs_input_grad
        for_inner = for_up = None
        # Turned, since MKL takes three times as long where the small rank is the last dimension.
        own = layout.of_outputs(grad)
        if wanted[2]:
            pairs = zip(layout.of_up(up), own, strict=True)
            for_inner = torch.cat([torch.bmm(matrix.mT, one.mT) for matrix, one in pairs], dim=1).mT
        if wanted[3]:
            pairs = zip(layout.of_inner(inner), own, strict=True)
            for_up = torch.cat([torch.bmm(given.mT, one) for given, one in pairs], dim=2).mT
        for_x = torch.bmm(grad, weight) if wanted[0] else None
        for_weight = torch.bmm(grad.mT, x) if wanted[1] else None
        return for_x, for_weight, for_inner, for_up, None


def add_products(out: Tensor, inner: Tensor, up: Tensor, layout: Layout) -> None:
    pieces = zip(layout.of_outputs(out), layout.of_inner(inner), layout.of_up(up), strict=True)
    for own, given, matrix in pieces:
        own.baddbmm_(given, matrix.mT)


def is_lora(module: nn.Module) -> bool:
    """PEFT's own layer for plain linear ones; who has not imported PEFT has none."""
    peft = sys.modules.get("peft.tuners.lora.layer")
    return peft is not None and type(module) is peft.Linear


def linear_in(module: Any) -> nn.Linear | None:
    """The plain linear layer that this is, or that PEFT has put LoRA around; None for all else."""
    inner = module.base_layer if is_lora(module) else module
    return inner if is_plain(inner, nn.Linear) else None


def _has(module: Any, name: str) -> bool:
    return is_lora(module) and name in module.lora_A


def _adapter(name: str, groups: list[list[Any]]) -> LoraAdapter | None:
    """None where the siblings differ, or something is not plain."""
    having = [[_has(module, name) for module in group] for group in groups]
    layers = [module for group in groups for module in group if _has(module, name)]
    if any(one != having[0] for one in having):
        return None
    if not all(_is_plain_lora(layer, name) for layer in layers):
        return None
    downs = [layer.lora_A[name].weight for layer in layers]
    if len({(down.shape, down.dtype) for down in downs}) > 1:
        return None
    return LoraAdapter(name, groups, tuple(module.out_features for module in groups[0]))


def _is_plain_lora(layer: Any, name: str) -> bool:
    down, up, dropout = layer.lora_A[name], layer.lora_B[name], layer.lora_dropout[name]
    base, weights = layer.base_layer.weight, (down.weight, up.weight)
    formats = (base.dtype, torch.float32) if base.dtype.itemsize == 2 else (base.dtype,)
    return (
        name not in layer.lora_variant
        and not layer.fan_in_fan_out
        and all(is_plain(one, nn.Linear) and one.bias is None for one in (down, up))
        and type(dropout) in (nn.Dropout, nn.Identity)
        and is_plain(dropout)
        and weights[0].dtype == weights[1].dtype
        and weights[0].dtype in formats
        and {weight.device for weight in weights} == {base.device}
    )


def _product(x: Tensor, weight: Tensor) -> Tensor:
    return BatchedProduct.apply(x, weight) if torch.is_grad_enabled() else torch.bmm(x, weight.mT)
