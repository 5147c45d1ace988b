"""Derive the chunkable architectures: a config, a bare model and a language model for each.

The layers of Llama, Mistral, Qwen2 and Qwen3 have the same form, so the layers of parallel chunks can run as one.
"""

from typing import NamedTuple

import transformers
from huggingface_hub.dataclasses import strict
from transformers.utils.output_capturing import OutputRecorder

from workflow_scripts.chunked.configuration import ChunkingKeys
from workflow_scripts.chunked.layer_order import ChunkStage, SharedStage
from workflow_scripts.chunked.modeling import ChunkedForCausalLM, ChunkedModel

_NAMES = ("Qwen2", "Qwen3", "Llama", "Mistral")  # transformers' class prefixes
_RECORDED = {"hidden_states": [OutputRecorder(SharedStage), OutputRecorder(ChunkStage)]}


class Architecture(NamedTuple):
    config: type[ChunkingKeys]
    model: type[ChunkedModel]
    causal_lm: type[ChunkedForCausalLM]


def _make_architecture(name: str) -> Architecture:
    def derive(kind: str, mixin: type, **members) -> type:
        base = getattr(transformers, f"{name}{kind}")
        members["__module__"] = __name__
        return type(f"{name}Chunking{kind}", (mixin, base), members)

    base_config = getattr(transformers, f"{name}Config")
    config = strict(derive("Config", ChunkingKeys, model_type=f"{base_config.model_type}_chunking"))
    annotations = {"config": config}
    recorded = getattr(transformers, f"{name}Model")._can_record_outputs | _RECORDED
    model = derive("Model", ChunkedModel, __annotations__=annotations, _can_record_outputs=recorded)
    causal_lm = derive(
        "ForCausalLM", ChunkedForCausalLM, __annotations__=annotations, _model_class=model
    )
    return Architecture(config, model, causal_lm)


# Keyed by the model_type of the base model.
ARCHITECTURES = {
    getattr(transformers, f"{name}Config").model_type: _make_architecture(name) for name in _NAMES
}
