"""How much memory a step takes, found out on the model itself, and whether it is to calculate twice for less.

What autograd keeps of a row for going back depends on the architecture, its attention, adapters and number
formats. So it is weighed: for three short rows, between which it grows with the length and its square.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from workflow_scripts.core.seeds import without_a_trace
from workflow_scripts.planning.memory import BESIDE_TRAINED
from workflow_scripts.training.attention import rows_apart
from workflow_scripts.training.loss import find_head
from workflow_scripts.training.packing import Order
from workflow_scripts.training.precision import calculating_in
from workflow_scripts.training.samples import Samples
from workflow_scripts.training.trained_parameters import trained_parameters

_WEIGHED = (16, 32, 64)  # tokens
# Beside what is kept there are gradients in the making and kernels' own buffers.
_SPARE = 1.25
# A logit in 16 bits and in 32, its log-probability, and the gradients of both.
_BYTES_OF_LOGIT = 16


@dataclass(frozen=True)
class BatchShape:
    """The shape of a micro-batch: packed it is one row of all its tokens."""

    rows: int
    length: int

    @property
    def tokens(self) -> int:
        return self.rows * self.length


def longest_row(samples: Samples, order: Order, epochs: int, *, padded: bool) -> BatchShape:
    """Of all micro-batches of a training the one with most tokens; longer rows first among equals."""
    lengths, found = samples.lengths, BatchShape(1, 1)
    for epoch in range(epochs):
        order.set_epoch(epoch)
        for micro in order:
            of_each = lengths[micro]
            row = (
                BatchShape(len(micro), int(of_each.max()))
                if padded
                else BatchShape(1, int(of_each.sum()))
            )
            found = max(found, row, key=lambda one: (one.tokens, one.length))
    order.set_epoch(0)
    return found


def choose_checkpointing(wanted: str, room: int | None, needed: Callable[[], float]) -> bool:
    """Whether to calculate forward twice: by itself, where a step that does it once has no room.

    The room is the GPU's free memory; None is a CPU, where one calculates once.
    """
    if wanted != "auto":
        return wanted == "yes"
    return room is not None and needed() > room


def step_bytes(model, row: BatchShape, precision: str, *, in_pieces: bool = True) -> int:
    """What a step needs beside the weights, if it calculates once: an estimate, on the safe side.

    `in_pieces` says whether the logits of a long row are made so where the model allows it.
    """
    trained = sum(p.numel() for p in trained_parameters(model).values()) * BESIDE_TRAINED
    with calculating_in(precision, model.device.type):  # which mixed formats need
        head = find_head(model) if in_pieces else None
    at_once = row.tokens if head is None else min(row.tokens, head.at_once)
    logits = at_once * model.config.get_text_config().vocab_size * _BYTES_OF_LOGIT
    return int(_SPARE * (kept_bytes(model, row, precision) + logits)) + trained


def kept_bytes(model, row: BatchShape, precision: str) -> int:
    """What autograd keeps of a row for going back, logits left out."""
    weighed = [weigh(model, BatchShape(1, length), precision) for length in _WEIGHED]
    square, linear, constant = np.polyfit(_WEIGHED, weighed, deg=2).tolist()
    return int(constant + row.rows * (linear * row.length + square * row.length**2))


def weigh(model, row: BatchShape, precision: str) -> int:
    """The bytes of all that autograd keeps of a pass over a row, what is there in any case left out."""
    kept: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    device, was_training = model.device, model.training
    tokens = torch.zeros(row.rows, row.length, dtype=torch.long, device=device)
    ends = torch.tensor([0, row.length], dtype=torch.int32, device=device)
    apart = rows_apart(model, [row.length], ends) if row.rows == 1 else {}
    model.train()
    hooks = torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor)
    with without_a_trace(device), calculating_in(precision, device.type), hooks:
        output = model(
            input_ids=tokens, use_cache=False, logits_to_keep=tokens.flatten()[:0], **apart
        )
    del output
    model.train(was_training)
    # Noted now: the first pass of a model in chunks moves its parameters beside one another.
    there = {tensor.untyped_storage().data_ptr() for tensor in model.parameters()}
    return sum(size for place, size in kept.items() if place not in there)
