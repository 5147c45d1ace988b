"""Configure the keys that all kinds of training share: trained parameters, optimizer and duration."""

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from workflow_scripts.settings.section import (
    Count,
    DemoDtype,
    Fraction,
    Listed,
    Positive,
    Section,
)

# Names in `trainable_modules` other than patterns of parameter names.
WRAPPER, CHUNKED_LAYERS = "wrapper", "chunked_layers"
LAST_LAYERS = re.compile(r"last (\d+) layers")
_MAX_MICRO_BATCH = 8


class TrainingKeys(Section):
    """Training keys, shared by stages of checkpoints and by the training before a test."""

    method: Literal["full", "freeze", "lora"] = "full"
    """full: all parameters; freeze: those that `trainable_modules` names; lora: low-rank adapters in
    `lora_target_modules`."""
    trainable_modules: Listed[str] = ()
    """Parameters that are trained in full: wrapper (adapters and aggregation of a chunked model),
    chunked_layers (the layers inside its chunks), 'last 16 layers', or a pattern of parameter names
    such as '*.mlp.*' or '*.layers.[4-7].*'."""
    lora_rank: Count = 8
    """Rank of the low-rank adapters."""
    lora_alpha: Positive = 16.0
    """LoRA scaling is lora_alpha / lora_rank."""
    lora_dropout: Fraction = 0.0
    """Dropout before the LoRA adapters."""
    lora_target_modules: Listed[str] = Field(("all-linear",), min_length=1)
    """Linear layers that get an adapter, by the last part of their names; all-linear is all but the
    output layer, usual is PEFT's default for the architecture."""

    learning_rate: Positive = 1e-5
    """Peak learning rate."""
    lr_scheduler: Literal["constant", "linear", "cosine"] = "cosine"
    """Learning rate schedule after the warm-up."""
    warmup_ratio: Fraction = 0.1
    """Fraction of the steps in which the learning rate rises linearly."""
    weight_decay: float = Field(0.0, ge=0)
    """AdamW's weight decay."""
    max_grad_norm: Positive = 1.0
    """Maximum norm of the gradient; it is clipped to this."""

    epochs: Count = 1
    """Passes over the training samples."""
    max_steps: Count | None = None
    """Maximum number of optimiser steps; training may end earlier, after the last epoch."""
    batch_size: Count = 16
    """Samples per optimiser step."""
    micro_batch_size: Count | None = None
    """Samples per forward and backward pass; null is up to 8. It is halved when memory runs out,
    with gradient accumulation over the same batch_size."""
    max_length: int = Field(2048, ge=2)
    """Maximum number of tokens per sample; longer samples are truncated."""
    packing: bool = True
    """Pack several samples into one row without padding, with attention only within each sample;
    false pads them, as the published code does."""

    eval_steps: Count | None = None
    """Number of steps between evaluations; null evaluates after each epoch."""
    select: Literal["best", "last", "early_stopping"] = "last"
    """Which checkpoint is used: the best of the evaluations, or the last; early_stopping is the
    best, and ends training at the first evaluation that is no better than the best before it."""
    save_steps: Count | None = None
    """Number of steps between the saved states from which a killed training resumes; null saves
    every five minutes."""

    precision: Annotated[Literal["auto", "float32", "bfloat16"], DemoDtype] = "auto"
    """Dtype of the forward and backward pass; trained parameters stay in float32. auto is chosen
    like compute.dtype's auto."""
    gradient_checkpointing: Literal["auto", "yes", "no"] = "auto"
    """Recompute activations in the backward pass to save memory; auto: on a GPU, once
    memory has run out with one sample at a time."""

    @property
    def max_micro_batch_size(self) -> int:
        """Return the samples per forward pass while there is memory for them."""
        return self.micro_batch_size or self.get_micro_batch_size(_MAX_MICRO_BATCH)

    def get_micro_batch_size(self, max_size: int) -> int:
        """Return the largest divisor of `batch_size` up to `max_size`."""
        return max(n for n in range(1, max_size + 1) if self.batch_size % n == 0)

    def find_contradictions(self) -> Iterator[str]:
        yield from super().find_contradictions()
        if bool(self.trainable_modules) != (self.method == "freeze"):
            yield "expected trainable_modules with the method freeze, and none with other methods."
        if self.batch_size % (self.micro_batch_size or 1):
            yield f"expected a micro_batch_size that divides batch_size, {self.batch_size}."
