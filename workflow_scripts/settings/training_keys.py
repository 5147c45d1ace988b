"""How to train, in keys that each kind of training has: what of a model, how fast, how long."""

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from workflow_scripts.core.errors import did_you_mean
from workflow_scripts.settings.section import Listed, Section

Names = Listed[str]

# What `trains` may say besides a pattern of parameter names.
WRAPPER, CHUNKED_LAYERS = "wrapper", "chunked_layers"
LAYERS = re.compile(r"layers (\d+)(?: to (\d+))?")
LAST_LAYERS = re.compile(r"last (\d+) layers")


def _check_part(part: str) -> str:
    numbered = LAYERS.fullmatch(part) or LAST_LAYERS.fullmatch(part)
    if part in (WRAPPER, CHUNKED_LAYERS) or numbered or re.search(r"[.*]", part):
        return part
    raise ValueError(
        "expected wrapper, chunked_layers, 'layers 6 to 17', 'last 16 layers' or a pattern with a dot or a"
        f" star in it.{did_you_mean(part, (WRAPPER, CHUNKED_LAYERS))}"
    )


Parts = Listed[Annotated[str, AfterValidator(_check_part)]]


class TrainingKeys(Section):
    """How to train; shared by stages of checkpoints and by the training before a test."""

    method: Literal["full", "freeze", "lora"] = "full"
    """full: all parameters; freeze: those that `trains` names; lora: low-rank adapters in
    `lora_targets`, and in full what `trains` names."""
    trains: Parts = ()
    """What is trained in full: wrapper (adapters and aggregation of a chunked model),
    chunked_layers (the layers inside its chunks), 'layers 6 to 17' (counted from 0), 'last 16
    layers', or a pattern of parameter names such as '*.mlp.*'."""
    lora_rank: int = Field(8, ge=1)
    """Rank of the low-rank adapters."""
    lora_alpha: float = Field(16.0, gt=0)
    """Their scale is this over the rank."""
    lora_dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout in front of them."""
    lora_targets: Names = Field(("all-linear",), min_length=1)
    """Linear layers that get one, by the last part of their names; all-linear is all but the output
    layer, usual those that PEFT takes for the architecture."""
    lora_output: Literal["merged", "adapter"] = "merged"
    """Whether a checkpoint holds the sum, or the base and the adapter."""

    learning_rate: float = Field(1e-5, gt=0)
    """Its peak."""
    schedule: Literal["constant", "linear", "cosine"] = "cosine"
    """How the rate falls after the warm-up."""
    warm_up: float = Field(0.1, ge=0, lt=1)
    """Share of the steps in which the rate rises."""
    weight_decay: float = Field(0.0, ge=0)
    """AdamW's weight decay."""
    max_gradient_norm: float = Field(1.0, gt=0)
    """Longer gradients are cut to this."""

    epochs: int = Field(1, ge=1)
    """Passes over the training samples."""
    max_steps: int | None = Field(None, ge=1)
    """At most so many steps; the epochs may be over earlier."""
    batch_size: int = Field(16, ge=1)
    """Samples of one optimiser step, over all GPUs."""
    micro_batch_size: int | None = Field(None, ge=1)
    """Samples that go through the model at once; null is up to 8. Halved when memory runs out; a step
    keeps its samples."""
    max_length: int = Field(2048, ge=2)
    """Tokens of one sample; a longer one is cut."""
    packing: bool = True
    """Put samples into one row without padding, none seeing another; false pads them, as the
    published code does."""

    evaluate_every: int | None = Field(None, ge=1)
    """Evaluate after each so many steps; null is after each epoch."""
    select: Literal["best", "last", "patience"] = "last"
    """Which state is kept: the best of the evaluations, or the last; patience is the best, and ends
    the training with the first evaluation that is no better than the best before it."""
    save_every: int | None = Field(None, ge=1)
    """Keep a state to resume from after each so many steps; null is every five minutes."""

    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the calculations; what is trained is kept in float32. auto is bfloat16 on GPUs that have
    it."""
    gradient_checkpointing: Literal["auto", "yes", "no"] = "auto"
    """Calculate twice to save memory; auto: on a GPU, once memory has run out with one sample at a
    time."""
    compile: bool = False
    """Compile the model with torch.compile."""
    gpus: int = Field(1, ge=1)
    """GPUs of one node that train side by side."""

    @property
    def adapters_alone(self) -> bool:
        """Whether a model's own weights stay as they were loaded, so that the next training may have them."""
        return self.method == "lora" and not self.trains

    def contradictions(self) -> Iterator[str]:
        yield from super().contradictions()
        if self.method != "lora" and bool(self.trains) != (self.method == "freeze"):
            yield "expected trains with the method freeze, and none of it with full."
        if self.batch_size % (self.micro_batch_size or 1) or self.batch_size % self.gpus:
            yield f"expected micro_batch_size and gpus that divide batch_size, {self.batch_size}."
