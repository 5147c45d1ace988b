"""Describe one chunked variant of a model in a config, and derive its id."""

from typing import Any, Self

from pydantic import Field, ValidationInfo, model_validator

from workflow_scripts.core.chunk_plan import (
    DEFAULT_MODE,
    AdapterInit,
    Aggregation,
    AggregationBase,
    ChunkPlan,
    DistillationLoss,
    Mode,
    build_chunk_plan,
)
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import (
    DEFAULT_AGGREGATION,
    DEFAULT_TEMPERATURE,
    NO_ADAPTERS,
    NORMAL_INIT,
    PUBLISHED_LOSS,
    UNCHANGED,
    CheckpointId,
)
from workflow_scripts.settings.names import ModelName
from workflow_scripts.settings.section import Count, Listed, NonNegative, Section

_DISTILLATION = ("distillation", "logits_distillation", "temperature", "distillation_loss")

# Families of unsupported architectures; build_chunked checks all other models.
_UNSUPPORTED_FAMILIES = ("GPT-2", "Pythia", "Gemma")


class Checkpoint(Section):
    """A chunked variant of a model."""

    model: ModelName
    """Model to cut into chunks, by its name, or by its folder (./my-checkpoint)."""
    num_chunks: NonNegative | None = None
    """k, the number of parallel chunks. Null means 2 in the modes that share a start and an end; in
    other modes it follows from the other numbers. 0 with num_layers_per_chunk 0 is the unchanged
    model."""
    num_layers_per_chunk: NonNegative | None = None
    """m, the layers of one chunk; every mode but prune needs it."""
    mode: Mode = DEFAULT_MODE
    """sequential: consecutive layers make a chunk; uniform: every n-th layer does; the rest of the
    name says which layers all chunks share; prune: no chunks, some layers are left out."""
    layers_to_prune: Listed[Count] = ()
    """Layers to leave out, counted from 1; only with the mode prune."""
    aggregation_mode: Aggregation = "mlp"
    """How the chunks' outputs become one: their mean, the last one, residual (the shared input plus
    what every chunk changed), or mlp (a linear layer and a gated MLP, to be trained)."""
    aggregation_base: AggregationBase = "residual"
    """What the mlp adds its output to; at the start of training this is the whole aggregation. none
    is the published mlp, whose output is random at the start."""
    use_adapters: bool = True
    """A small trainable layer before each layer of a chunk."""
    adapter_hidden_size: Count | None = None
    """Width of the adapters; null is the model's own."""
    adapter_init: AdapterInit = Field("identity", exclude_if=lambda init: init == "identity")
    """Initialisation of the adapters: identity (their second projection is zero) or, as published,
    normal (both projections are drawn from a normal distribution with the standard deviation of the
    model's initializer_range, usually 0.02)."""
    distillation: bool = False
    """Distil from the hidden states of the unchunked model with the same weights."""
    logits_distillation: bool = False
    """Distil from the logits of the unchunked model with the same weights."""
    temperature: float = Field(DEFAULT_TEMPERATURE, ge=0.01, le=100)
    """Temperature of the distillation from logits."""
    distillation_loss: DistillationLoss = Field("own", exclude_if=lambda loss: loss == "own")
    """How distillation losses are averaged. own: over the tokens that have a label, and for hidden
    states over the states after the chunks. published: over all tokens, including prompts and
    padding; for hidden states, the sum from the input of the first layer after the chunks to the
    last normalised state, divided by the number of all states of the unchunked model."""

    @property
    def keys(self) -> dict[str, Any]:
        """Return the keys that config.json of the chunked model has in addition to the base model's."""
        return self.model_dump(exclude={"model", "mode"}) | {
            "num_layers_per_chunk": self.num_layers_per_chunk or 0,
            "chunking_mode": self.mode,
            "layers_to_prune": list(self.layers_to_prune) or None,
        }

    @property
    def aggregation(self) -> str | None:
        """Return the aggregation's mark in the id; None for a pruned model."""
        if self.mode == "prune":
            return None
        if self.aggregation_mode == "mlp":
            return f"mlp.{self.aggregation_base}"
        return self.aggregation_mode

    @property
    def adapters(self) -> str | None:
        """Return the mark of the adapters; None without adapters."""
        if self.mode == "prune" or not self.use_adapters:
            return None
        return f"adapters{self.adapter_hidden_size or ''}"

    @property
    def timed_variant(self) -> "Checkpoint":
        """Return the checkpoint without the keys that do not affect speed: distillation and adapter_init."""
        keys = self.model_dump(exclude={"adapter_init", *_DISTILLATION})
        return type(self)(**keys)

    def build_plan(self, layers: int) -> ChunkPlan:
        """Build the chunk plan of a model with `layers` layers."""
        return build_chunk_plan(
            layers,
            self.mode,
            self.num_layers_per_chunk,
            self.num_chunks,
            self.layers_to_prune,
        )

    def build_id(self, layers: int) -> CheckpointId:
        """Build the id for a model with `layers` layers, with a mark for each choice that differs from the default."""
        plan = self.build_plan(layers)
        if self.mode == "prune":
            pruned = "-".join(map(str, sorted(self.layers_to_prune)))
            marks = [self._distillation] if self._distillation else []
            return CheckpointId(self.model, f"prune{pruned}", tuple(marks))
        if not plan.chunks:
            return CheckpointId(self.model, UNCHANGED)
        choices = {
            self.mode: self.mode != DEFAULT_MODE,
            self.aggregation: self.aggregation != DEFAULT_AGGREGATION,
            NO_ADAPTERS: not self.use_adapters,
            self.adapters: self.use_adapters and self.adapter_hidden_size,
            NORMAL_INIT: self.use_adapters and self.adapter_init == "normal",
            self._distillation: self._distillation,
        }
        marks = [str(mark) for mark, is_unusual in choices.items() if is_unusual]
        return CheckpointId(self.model, f"k{len(plan.chunks)}m{len(plan.chunks[0])}", tuple(marks))

    @property
    def _distillation(self) -> str:
        if not (self.distillation or self.logits_distillation):
            return ""
        kind = "logits" if self.logits_distillation else "hidden"
        parts = ["distil", "both" if self.distillation and self.logits_distillation else kind]
        if self.distillation_loss == "published":
            parts.append(PUBLISHED_LOSS)
        if self.logits_distillation and self.temperature != DEFAULT_TEMPERATURE:
            parts.append(f"t{self.temperature:g}")
        return ".".join(parts)

    @model_validator(mode="after")
    def _check_plan(self, info: ValidationInfo) -> Self:
        if info.context is not None:
            row = info.context.models[self.model]
            if row.family in _UNSUPPORTED_FAMILIES:
                raise ValueError(
                    f"{self.model} is of the family {row.family}; expected a model built like Qwen2,"
                    " Qwen3, Llama or Mistral"
                )
            try:
                plan = self.build_plan(row.layers)
            except UserError as error:
                raise ValueError(f"for {self.model}, {error}") from None
            if self._distillation and not plan.chunks and self.mode != "prune":
                raise ValueError("expected no distillation of the unchanged model from itself")
        return self
