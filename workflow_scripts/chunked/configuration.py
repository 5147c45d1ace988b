"""Define the keys that chunking adds to a base model's config.json.

The published names are kept, because checkpoints use them; `chunk_execution` and `aggregation_base` are new. A
config.json without them is read as a published one: its mlp has no base, its adapters are as wide as the model's own
MLP and initialised randomly, and its distillation uses the published loss. Chorus always writes both keys.
"""

from typing import Literal

from transformers import PreTrainedConfig

from workflow_scripts.core.chunk_plan import (
    BOTH_SIDES,
    DEFAULT_MODE,
    AdapterInit,
    Aggregation,
    AggregationBase,
    ChunkPlan,
    DistillationLoss,
    Mode,
    build_chunk_plan,
)


class ChunkingKeys(PreTrainedConfig):
    """The keys of chunking, as a mixin of a base model's config; transformers checks their types."""

    num_layers_per_chunk: int = 6
    num_chunks: int | None = None  # null means 2
    chunking_mode: Mode = DEFAULT_MODE
    aggregation_mode: Aggregation = "mlp"
    # The term to which the mlp adds its output. The published mlp replaces the residual stream, so an
    # untrained one outputs noise; with a base it starts exactly as that base. Null: as published.
    aggregation_base: AggregationBase | None = None
    use_adapters: bool = True
    adapter_hidden_size: int | None = None  # null means hidden_size
    adapter_init: AdapterInit | None = None  # null means identity
    layers_to_prune: list[int] | None = None  # counted from 1
    distillation: bool = False
    logits_distillation: bool = False
    temperature: float | int = 2.0
    distillation_loss: DistillationLoss | None = None  # null means own
    chunk_execution: Literal["fused", "loop"] = "fused"

    def __post_init__(self, **kwargs):
        super().__post_init__(**kwargs)
        is_published = self.aggregation_base is None
        self.adapter_init = self.adapter_init or ("normal" if is_published else "identity")
        self.distillation_loss = self.distillation_loss or ("published" if is_published else "own")
        if is_published:
            self.aggregation_base = "none"
            # Published configs may contain a width, but the published code ignores it.
            self.adapter_hidden_size = self.intermediate_size

    def plan(self) -> ChunkPlan:
        # Published checkpoints have num_chunks 2 in every mode, but only these two modes use it.
        uses_num_chunks = self.chunking_mode.endswith(BOTH_SIDES) or self.num_layers_per_chunk == 0
        return build_chunk_plan(
            self.num_hidden_layers,
            self.chunking_mode,
            self.num_layers_per_chunk,
            self.num_chunks if uses_num_chunks else None,
            self.layers_to_prune if self.chunking_mode == "prune" else None,
        )
