"""What a model is called with: a collated batch where the model is, its samples apart."""

from typing import Any

import torch
from torch import Tensor

from workflow_scripts.training.attention import rows_apart
from workflow_scripts.training.loss import Counted


def sent_to(device: torch.device, inputs: dict[str, Any]) -> dict[str, Any]:
    """Without waiting until it is there; what is no tensor stays as it is."""
    return {
        name: value.to(device, non_blocking=True) if isinstance(value, Tensor) else value
        for name, value in inputs.items()
    }


def call_of(model, inputs: dict[str, Any]) -> tuple[dict[str, Any], Tensor, Counted]:
    """What the model is called with, the labels, and what of them counts."""
    inputs = dict(inputs)
    counted = Counted(inputs.pop("before"), inputs.pop("targets"))
    lengths, ends = inputs.pop("lengths", None), inputs.pop("ends", None)
    if lengths is not None:
        inputs |= rows_apart(model, lengths, ends)
    return inputs, inputs.pop("labels"), counted
