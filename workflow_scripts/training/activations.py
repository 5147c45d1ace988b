"""How much memory a step takes, found out on the model itself, and whether it is to calculate twice for less.

What autograd keeps of a row for going back depends on the architecture, its attention, adapters and number
formats. So it is weighed: for three short rows, between which it grows with the length and its square.
"""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from workflow_scripts.core.seeds import without_a_trace
from workflow_scripts.planning.memory import step_bytes, trained_logit_bytes
from workflow_scripts.training.attention import rows_apart
from workflow_scripts.training.loss import find_head, is_distilled
from workflow_scripts.training.packing import Order
from workflow_scripts.training.precision import calculating_in
from workflow_scripts.training.samples import Samples
from workflow_scripts.training.sharded import held_here
from workflow_scripts.training.trained_parameters import trained_parameters

_WEIGHED = (16, 32, 64)  # tokens
_MOST_TOKENS = 1 << 20  # of a row, however much memory there is


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


@dataclass(frozen=True)
class StepMemory:
    """What a step that calculates once needs beside the weights; what it keeps grows as `kept` says."""

    kept: tuple[
        float, float, float
    ]  # for the square of a row's length, its length, and in any case
    trained: int
    vocabulary: int
    in_pieces: bool
    distilled: bool

    @classmethod
    def of(cls, model, precision: str, *, in_pieces: bool = True) -> "StepMemory":
        """`in_pieces` says whether the logits of a long row are made so where the model allows it."""
        weighed = [weigh(model, BatchShape(1, length), precision) for length in _WEIGHED]
        square, linear, constant = np.polyfit(_WEIGHED, weighed, deg=2).tolist()
        distilled = is_distilled(model)
        with calculating_in(precision, model.device.type):  # which mixed formats need
            in_pieces = in_pieces and (distilled or find_head(model) is not None)
        trained = sum(held_here(p).numel() for p in trained_parameters(model).values())
        vocabulary = model.config.get_text_config().vocab_size
        return cls((square, linear, constant), trained, vocabulary, in_pieces, distilled)

    def kept_bytes(self, row: BatchShape) -> int:
        """What autograd keeps of a row for going back, logits left out."""
        square, linear, constant = self.kept
        return int(constant + row.rows * (linear * row.length + square * row.length**2))

    def bytes(self, row: BatchShape) -> int:
        logits = trained_logit_bytes(
            row.tokens, self.vocabulary, in_pieces=self.in_pieces, distilled=self.distilled
        )
        return step_bytes(self.kept_bytes(row), logits, self.trained)

    def row_within(self, room: float) -> int:
        """The tokens of the longest row for which there is room."""
        lengths = range(1, _MOST_TOKENS + 1)
        return bisect_right(lengths, room, key=lambda tokens: self.bytes(BatchShape(1, tokens)))


@dataclass(frozen=True)
class Fitting:
    """How a training is made to fit a GPU: rows of at most so many tokens, and calculating twice."""

    most_tokens: int | None
    checkpoints: bool

    @classmethod
    def choose(
        cls, wanted: str, room: int, longest: BatchShape, sample: int, memory: StepMemory
    ) -> "Fitting":
        """A row that has no room is cut apart between its samples, and all is calculated twice only where the
        longest sample has none alone."""
        if memory.bytes(longest) <= room:
            return cls(None, False)
        most = memory.row_within(room)
        if wanted == "auto" and sample > most:
            return cls(None, True)
        return cls(max(1, most), False)


def weigh(model, row: BatchShape, precision: str) -> int:
    """The bytes of all that autograd keeps of a pass over a row, what is there in any case left out."""
    noted: dict[int, torch.UntypedStorage] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        noted[storage.data_ptr()] = storage
        return tensor

    device, was_training = model.device, model.training
    tokens = torch.zeros(row.rows, row.length, dtype=torch.long, device=device)
    ends = torch.tensor([0, row.length], dtype=torch.int32, device=device)
    apart = rows_apart(model, [row.length], ends) if row.rows == 1 else {}
    model.train()
    hooks = torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor)
    with without_a_trace(device), calculating_in(precision, device.type), hooks:
        output = model(input_ids=tokens, use_cache=False, **_without_logits(model, tokens), **apart)
    # By now FSDP has given back what it had gathered of a layer's weights, which autograd keeps no bytes of.
    kept = {place: storage.nbytes() for place, storage in noted.items()}
    del output
    model.train(was_training)
    # Noted now: the first pass of a model in chunks moves its parameters beside one another.
    there = {held_here(tensor).untyped_storage().data_ptr() for tensor in model.parameters()}
    return sum(size for place, size in kept.items() if place not in there)


def _without_logits(model, tokens: Tensor) -> dict[str, Any]:
    """A call that keeps those of no position; the loss of a model that learns from itself is its own to make."""
    if is_distilled(model):
        return {"labels": tokens, "num_items_in_batch": tokens.numel()}
    return {"logits_to_keep": tokens.flatten()[:0]}
