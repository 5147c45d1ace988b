"""The architectures that can be cut: for each a config, a bare model and a language model.

The layers of Llama, Mistral, Qwen2 and Qwen3 are of one form and run as one where chunks stand side by side. Those of
mixtures of experts run one after the other, by their own code.
"""

from dataclasses import dataclass

from transformers import (
    LlamaForCausalLM,
    LlamaModel,
    MistralForCausalLM,
    MistralModel,
    MixtralForCausalLM,
    MixtralModel,
    Qwen2ForCausalLM,
    Qwen2Model,
    Qwen3ForCausalLM,
    Qwen3Model,
    Qwen3MoeForCausalLM,
    Qwen3MoeModel,
)
from transformers.utils.output_capturing import OutputRecorder

from workflow_scripts.chunked import configuration
from workflow_scripts.chunked.layer_order import ChunkStage, SharedStage
from workflow_scripts.chunked.modeling import ChunkedForCausalLM, ChunkedModel

_RECORDED = {"hidden_states": [OutputRecorder(SharedStage), OutputRecorder(ChunkStage)]}


class Qwen2ChunkingModel(ChunkedModel, Qwen2Model):
    config: configuration.Qwen2ChunkingConfig
    _can_record_outputs = Qwen2Model._can_record_outputs | _RECORDED


class Qwen2ChunkingForCausalLM(ChunkedForCausalLM, Qwen2ForCausalLM):
    config: configuration.Qwen2ChunkingConfig
    _model_class = Qwen2ChunkingModel


class Qwen3ChunkingModel(ChunkedModel, Qwen3Model):
    config: configuration.Qwen3ChunkingConfig
    _can_record_outputs = Qwen3Model._can_record_outputs | _RECORDED


class Qwen3ChunkingForCausalLM(ChunkedForCausalLM, Qwen3ForCausalLM):
    config: configuration.Qwen3ChunkingConfig
    _model_class = Qwen3ChunkingModel


class LlamaChunkingModel(ChunkedModel, LlamaModel):
    config: configuration.LlamaChunkingConfig
    _can_record_outputs = LlamaModel._can_record_outputs | _RECORDED


class LlamaChunkingForCausalLM(ChunkedForCausalLM, LlamaForCausalLM):
    config: configuration.LlamaChunkingConfig
    _model_class = LlamaChunkingModel


class MistralChunkingModel(ChunkedModel, MistralModel):
    config: configuration.MistralChunkingConfig
    _can_record_outputs = MistralModel._can_record_outputs | _RECORDED


class MistralChunkingForCausalLM(ChunkedForCausalLM, MistralForCausalLM):
    config: configuration.MistralChunkingConfig
    _model_class = MistralChunkingModel


class _Experts(ChunkedForCausalLM):
    """What a mixture of experts reads of itself, where its experts' shares are asked for."""

    def __init__(self, config):
        super().__init__(config)
        self.router_aux_loss_coef = config.router_aux_loss_coef
        self.num_experts, self.num_experts_per_tok = config.num_experts, config.num_experts_per_tok


class MixtralChunkingModel(ChunkedModel, MixtralModel):
    config: configuration.MixtralChunkingConfig
    _can_record_outputs = MixtralModel._can_record_outputs | _RECORDED
    is_fusible = False


class MixtralChunkingForCausalLM(_Experts, MixtralForCausalLM):
    config: configuration.MixtralChunkingConfig
    _model_class = MixtralChunkingModel


class Qwen3MoeChunkingModel(ChunkedModel, Qwen3MoeModel):
    config: configuration.Qwen3MoeChunkingConfig
    _can_record_outputs = Qwen3MoeModel._can_record_outputs | _RECORDED
    is_fusible = False


class Qwen3MoeChunkingForCausalLM(_Experts, Qwen3MoeForCausalLM):
    config: configuration.Qwen3MoeChunkingConfig
    _model_class = Qwen3MoeChunkingModel


@dataclass(frozen=True)
class Architecture:
    config: type[configuration.ChunkingKeys]
    model: type[ChunkedModel]
    causal_lm: type[ChunkedForCausalLM]

    @property
    def base(self) -> str:
        """The model_type of the models that it chunks."""
        return self.config.model_type.removesuffix("_chunking")


ARCHITECTURES = tuple(
    Architecture(causal_lm.config_class, causal_lm._model_class, causal_lm)
    for causal_lm in (
        Qwen2ChunkingForCausalLM,
        Qwen3ChunkingForCausalLM,
        LlamaChunkingForCausalLM,
        MistralChunkingForCausalLM,
        MixtralChunkingForCausalLM,
        Qwen3MoeChunkingForCausalLM,
    )
)
