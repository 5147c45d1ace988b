"""The low-rank adapters of many trainings in one model: stacked, and each in memory of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from workflow_scripts.planning.memory import OF_TRAINED
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.loss import find_head
from workflow_scripts.training.together.dropout import Dropout
from workflow_scripts.training.together.products import Groups, Stacked, added
from workflow_scripts.training.trained_parameters import trained_parameters

_PREFIX, _DOWN, _UP = "base_model.model.", ".lora_A.default.weight", ".lora_B.default.weight"
_ALIGNED = 16  # elements; where a parameter begins in an adapter's memory


@dataclass(frozen=True)
class Place:
    """Where one parameter of an adapter lies in the adapter's memory."""

    name: str  # PEFT's
    start: int
    shape: torch.Size

    @property
    def end(self) -> int:
        return self.start + prod(self.shape)


class AdapterStack:
    """`slots` adapters over `model`, made like the one that PEFT has put into `adapted`.

    The model's head is found before it has adapters, which want to know whose tokens they get.
    """

    def __init__(self, model: Any, adapted: Any, keys: TrainingKeys, slots: int):
        self.model, self.head = model, find_head(model)
        self.places, size = _places(adapted)
        device, dtype = model.device, next(iter(trained_parameters(adapted).values())).dtype
        self.values = torch.zeros(slots, size, dtype=dtype, device=device)
        self.gradients = torch.zeros_like(self.values)
        # AdamW's two, which are here from the first step on: what memory is left after that is for rows.
        self.moments = torch.zeros_like(self.values), torch.zeros_like(self.values)
        self.dropout = Dropout(keys.lora_dropout, device)
        self.groups = Groups.of([0] * slots, device)
        scale = keys.lora_alpha / keys.lora_rank
        stacked = {place.name: self._stacked(place) for place in self.places}
        for name, down in stacked.items():
            if name.endswith(_DOWN):
                path = name.removesuffix(_DOWN)
                up = stacked[path + _UP]
                parent, _, child = path.removeprefix(_PREFIX).rpartition(".")
                holder = model.get_submodule(parent)
                layer = WithAdapters(getattr(holder, child), down, up, scale, self)
                setattr(holder, child, layer)

    def _stacked(self, place: Place) -> Stacked:
        """One parameter of all adapters, in the memory where each adapter lies together."""
        values, gradients = (
            memory[:, place.start : place.end].view(-1, *place.shape)
            for memory in (self.values, self.gradients)
        )
        if place.name.endswith(_UP):
            values, gradients = values.mT, gradients.mT
        return Stacked(values.requires_grad_(), gradients)

    def put(self, slot: int, tensors: Mapping[str, Tensor]) -> None:
        """Give the adapter of this slot these values, by PEFT's names, as one that no step has changed."""
        for moment in self.moments:
            moment[slot].zero_()
        for place in self.places:
            self.values[slot, place.start : place.end] = tensors[place.name].flatten()

    def take(self, slot: int) -> dict[str, Tensor]:
        """A copy of the adapter of this slot, on the CPU, by PEFT's names."""
        whole = self.values[slot].to("cpu", copy=True)
        return {
            place.name: whole[place.start : place.end].view(place.shape).clone()
            for place in self.places
        }


def adapter_bytes(adapted: Any) -> int:
    """What a slot takes: an adapter like PEFT's, its gradients and AdamW's two moments."""
    return OF_TRAINED * sum(p.numel() for p in trained_parameters(adapted).values())


class WithAdapters(nn.Module):
    """A linear layer, or GPT-2's Conv1D, to which each token's own adapter adds."""

    def __init__(
        self, layer: nn.Module, down: Stacked, up: Stacked, scale: float, stack: AdapterStack
    ):
        super().__init__()
        self.layer = layer
        # Not as parameters of the model: they are what is trained, and the stack's.
        self._adapters, self._scale, self._stack = (down, up), scale, stack

    @property
    def weight(self) -> Tensor:
        return self.layer.weight

    @property
    def bias(self) -> Tensor | None:
        return self.layer.bias

    def forward(self, x: Tensor) -> Tensor:
        result = self.layer(x)
        (down, up), stack = self._adapters, self._stack
        if torch.is_autocast_enabled(x.device.type):
            exact = torch.get_autocast_dtype(x.device.type)
        else:
            exact = down.values.dtype
        flat = x.flatten(0, -2).to(exact)
        scale, kept = self._scale * stack.dropout.scale, stack.dropout.draw(flat)
        more = added(flat, down, up, stack.groups, scale, kept)
        return result + more.view(*x.shape[:-1], -1).to(result.dtype)


def _places(adapted: Any) -> tuple[list[Place], int]:
    places, size = [], 0
    for name, parameter in trained_parameters(adapted).items():
        places.append(Place(name, size, parameter.shape))
        size = -(-places[-1].end // _ALIGNED) * _ALIGNED
    return places, size
