"""Define the keys of a chunked model's config.json beside those of its base model.

The published names are kept, because checkpoints bear them; `chunk_execution` and `aggregation_base` are new, and a
config.json without them is read as a published one: its mlp is added to nothing, its adapters are as wide as the
model's own MLP and start as random values, and its distillation has the published loss. What Chorus writes always
has both.
"""

from typing import Literal

from transformers import PreTrainedConfig

from workflow_scripts.core.plan import (
    BOTH_SIDES,
    DEFAULT_MODE,
    AdapterInit,
    Aggregation,
    AggregationBase,
    ChunkPlan,
    DistillationLoss,
    Mode,
    chunk_plan,
)


class ChunkingKeys(PreTrainedConfig):
    """The keys that turn a base model's config into a chunked one's; their types are checked as transformers' own."""

    num_layers_per_chunk: int = 6
    num_chunks: int | None = None  # null means 2
    chunking_mode: Mode = DEFAULT_MODE
    aggregation_mode: Aggregation = "mlp"
    # What the mlp adds its output to. The published mlp replaces the stream, so that a fresh one is
    # noise; on top of a base it starts as that base exactly. Null: all is as published.
    aggregation_base: AggregationBase | None = None
    use_adapters: bool = True
    adapter_hidden_size: int | None = None  # null means hidden_size
    adapter_init: AdapterInit | None = None  # null means identity
    layers_to_prune: list[int] | None = None  # counted from 1
    # Ours as well: chunks that do not stand in the middle; null means as many layers before as behind.
    layers_before_chunks: int | None = None
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
            # Published configs may hold a width, and the published code never reads it.
            self.adapter_hidden_size = self.intermediate_size

    def plan(self) -> ChunkPlan:
        # Published checkpoints carry num_chunks 2 in every mode, and only these two modes read it.
        reads_chunks = self.chunking_mode.endswith(BOTH_SIDES) or self.num_layers_per_chunk == 0
        return chunk_plan(
            self.num_hidden_layers,
            self.chunking_mode,
            self.num_layers_per_chunk,
            self.num_chunks if reads_chunks else None,
            self.layers_to_prune if self.chunking_mode == "prune" else None,
            self.layers_before_chunks,
        )
