"""The same linear layers of k sibling layers as one batched product."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from workflow_scripts.chunked.lora import AdaptedProduct, LoraAdapter, LoraAdapters, linear_in
from workflow_scripts.chunked.products import FEW, Timing, are_wide, fastest_here, in_pieces
from workflow_scripts.chunked.stacked import BatchedProduct, Child, Siblings, Stack, autocasts


class Projection(Siblings):
    """Linear layers of k siblings: x [k, n, in] to [k, n, out], those of one sibling side by side.

    LoRA of PEFT is added by batched products too. Where one of them is anything else than a plain
    linear layer (quantisation, another kind of adapter), each is called by itself.
    """

    def __init__(self, groups: Sequence[Sequence[Child]], timing: Timing):
        self.timing = timing
        super().__init__(groups)

    def prepare(self) -> None:
        self.weight: Stack | None = None  # None: each is called by itself
        self.bias: Stack | None = None
        self.adapters: LoraAdapters | None = None
        modules = self.modules()
        linear = [[linear_in(module) for module in group] for group in modules]
        plain = [[layer for layer in group if layer is not None] for group in linear]
        biases = [[layer.bias for layer in group if layer.bias is not None] for group in plain]
        whole = [len(group) for group in modules]
        without = not any(biases)
        if [len(group) for group in plain] != whole:
            return
        if not without and [len(group) for group in biases] != whole:
            return
        self.weight = Stack([[layer.weight for layer in group] for group in plain])
        self.widths = [layer.out_features for layer in plain[0]]
        self.bias = None if without else Stack(biases)
        if plain != modules:
            self.adapters = LoraAdapters(modules)

    def places(self) -> list[Child]:
        return super().places() + ([] if self.adapters is None else self.adapters.places())

    def __call__(self, x: Tensor, onto: Tensor | None = None) -> Tensor:
        """The products, added to `onto` where given."""
        together, adapter = (True, None) if self.adapters is None else self.adapters.now(x)
        if self.weight is None or not together:
            out = torch.stack(
                [
                    torch.cat([module(one) for module in group], dim=-1)
                    for one, group in zip(x, self.modules(), strict=True)
                ]
            )
        elif torch.is_grad_enabled():
            out = self._with_gradients(x, self.weight, adapter)
        else:
            out, onto = self._without_gradients(x, self.weight.storage, onto)
            if adapter is not None:
                adapter.add_to(out, x)
        return out if onto is None else out + onto

    def _with_gradients(self, x: Tensor, stack: Stack, adapter: LoraAdapter | None) -> Tensor:
        weight, bias = stack.joined(), None if self.bias is None else self.bias.joined()
        if len(weight) == 1 and adapter is None:
            bias = None if bias is None else bias.squeeze(0)
            return F.linear(x.squeeze(0), weight.squeeze(0), bias).unsqueeze(0)
        if autocasts(x):
            dtype = torch.get_autocast_dtype(x.device.type)
            x, weight = x.to(dtype), weight.to(dtype)
        if adapter is None:
            out = BatchedProduct.apply(x, weight)
        else:
            up = adapter.up.joined().to(weight.dtype)
            out = AdaptedProduct.apply(x, weight, adapter.inner(x), up, adapter.layout)
        return out if bias is None else out + bias.unsqueeze(1).to(out.dtype)

    def _without_gradients(
        self, x: Tensor, weight: Tensor, onto: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """The products, and what is still to be added to them."""
        if (found := self._on_a_cpu(x, weight)) is not None:
            if self.bias is not None:
                found.add_(self.bias.storage.unsqueeze(1))
            return found, onto
        bias = None if self.bias is None else self.bias.storage
        if len(weight) == 1:
            out = F.linear(x[0], weight[0], None if bias is None else bias[0]).unsqueeze(0)
        elif bias is not None:
            out = torch.baddbmm(bias.unsqueeze(1), x, weight.mT)
        elif onto is not None and not autocasts(x):  # which would narrow `onto` too
            return torch.baddbmm(onto, x, weight.mT), None
        else:
            out = torch.bmm(x, weight.mT)
        return out, onto

    def _on_a_cpu(self, x: Tensor, weight: Tensor) -> Tensor | None:
        """The products without their bias, where it has a better way than the usual one."""
        if x.device.type != "cpu" or autocasts(x) or torch.compiler.is_compiling():
            return None
        if x.shape[1] <= FEW:
            return fastest_here(x, weight)(x, weight) if self.timing.allowed else None
        if x.dtype == torch.float32 and are_wide(self.widths, weight):
            return in_pieces(x, weight, self.widths)
        return None
