"""What a chunked model's config.json holds beside the keys of its base model.

The published names are kept, because checkpoints bear them; `chunk_execution` and `aggregation_base` are new, and a
config.json without them is read as a published one: its mlp is added to nothing, its adapters are as wide as the
model's own MLP and start as random values, and its distillation has the published loss. What Chorus writes always
has both.
"""

from collections.abc import Iterator
from typing import Literal, cast, get_args

from transformers import (
    LlamaConfig,
    MistralConfig,
    MixtralConfig,
    PreTrainedConfig,
    Qwen2Config,
    Qwen3Config,
    Qwen3MoeConfig,
)

from workflow_scripts.core.errors import UserError, did_you_mean
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

Execution = Literal["fused", "loop"]

_CHOICES = {
    "chunking_mode": get_args(Mode),
    "aggregation_mode": get_args(Aggregation),
    "aggregation_base": get_args(AggregationBase),
    "adapter_init": get_args(AdapterInit),
    "distillation_loss": get_args(DistillationLoss),
    "chunk_execution": get_args(Execution),
}
_LEAST = dict.fromkeys(("num_layers_per_chunk", "num_chunks", "layers_before_chunks"), 0)
_LEAST["adapter_hidden_size"] = 1


class ChunkingKeys(PreTrainedConfig):
    """The keys that turn a base model's config into a chunked one's."""

    num_layers_per_chunk: int = 6
    num_chunks: int | None = None  # null means 2
    chunking_mode: str = DEFAULT_MODE
    aggregation_mode: str = "mlp"
    # What the mlp adds its output to. The published mlp replaces the stream, so that a fresh one is
    # noise; on top of a base it starts as that base exactly. Null: all is as published.
    aggregation_base: str | None = None
    use_adapters: bool = True
    adapter_hidden_size: int | None = None  # null means hidden_size
    adapter_init: str | None = None  # null means identity
    layers_to_prune: list[int] | None = None  # counted from 1
    # Ours as well: chunks that do not stand in the middle; null means as many layers before as behind.
    layers_before_chunks: int | None = None
    distillation: bool = False
    logits_distillation: bool = False
    temperature: float = 2.0
    distillation_loss: str | None = None  # null means own
    chunk_execution: str = "fused"

    def __post_init__(self, **kwargs):
        super().__post_init__(**kwargs)
        published = self.aggregation_base is None
        self.adapter_init = self.adapter_init or ("normal" if published else "identity")
        self.distillation_loss = self.distillation_loss or ("published" if published else "own")
        if published:
            self.aggregation_base = "none"
            # Published configs may hold a width, and the published code never reads it.
            self.adapter_hidden_size = self.intermediate_size
        if problems := list(self._problems()):
            raise UserError(problems)
        if self.distilled and not (self.plan().chunks or self.chunking_mode == "prune"):
            raise UserError(
                f"distillation is set, but the plan ({self.chunking_mode}, num_chunks"
                f" {self.num_chunks}, num_layers_per_chunk {self.num_layers_per_chunk}) is the unchanged"
                " model's; expected distillation and logits_distillation to be false."
            )

    def _problems(self) -> Iterator[str]:
        for key, choices in _CHOICES.items():
            if (value := getattr(self, key)) not in choices:
                yield f"{key} is {value!r}; expected one of {', '.join(choices)}.{did_you_mean(value, choices)}"
        for key, least in _LEAST.items():
            value = getattr(self, key)
            is_whole = isinstance(value, int | None) and not isinstance(value, bool)
            if not is_whole or (value or least) < least:
                yield f"{key} is {value!r}; expected a whole number from {least}, or null."
        if self.num_layers_per_chunk is None:
            yield "num_layers_per_chunk is null; expected a whole number from 0."
        if self.chunking_mode == "prune" and not self.layers_to_prune:
            yield "layers_to_prune is empty; the mode prune needs at least one layer, counted from 1."
        for key in ("use_adapters", "distillation", "logits_distillation"):
            if not isinstance(value := getattr(self, key), bool):
                yield f"{key} is {value!r}; expected true or false."
        if not isinstance(self.temperature, int | float) or not self.temperature > 0:
            yield f"temperature is {self.temperature!r}; expected a number above 0."

    @property
    def distilled(self) -> bool:
        return self.distillation or self.logits_distillation

    def plan(self) -> ChunkPlan:
        # Published checkpoints carry num_chunks 2 in every mode, and only these two modes read it.
        reads_chunks = self.chunking_mode.endswith(BOTH_SIDES)
        unchanged = self.num_layers_per_chunk == 0
        return chunk_plan(
            self.num_hidden_layers,
            cast(Mode, self.chunking_mode),  # _problems refuses every other
            self.num_layers_per_chunk,
            self.num_chunks if reads_chunks or unchanged else None,
            self.layers_to_prune if self.chunking_mode == "prune" else None,
            self.layers_before_chunks,
        )


class Qwen2ChunkingConfig(ChunkingKeys, Qwen2Config):
    model_type = "qwen2_chunking"


class Qwen3ChunkingConfig(ChunkingKeys, Qwen3Config):
    model_type = "qwen3_chunking"


class LlamaChunkingConfig(ChunkingKeys, LlamaConfig):
    model_type = "llama_chunking"


class MistralChunkingConfig(ChunkingKeys, MistralConfig):
    model_type = "mistral_chunking"


class MixtralChunkingConfig(ChunkingKeys, MixtralConfig):
    model_type = "mixtral_chunking"


class Qwen3MoeChunkingConfig(ChunkingKeys, Qwen3MoeConfig):
    model_type = "qwen3_moe_chunking"
