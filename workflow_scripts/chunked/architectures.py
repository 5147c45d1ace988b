"""The architectures that can be cut: for each a config, a bare model and a language model.

The layers of Llama, Mistral, Qwen2 and Qwen3 are of one form and run as one where chunks stand side by side. Those of
mixtures of experts run one after the other, by their own code.
"""

from dataclasses import dataclass

import transformers
from huggingface_hub.dataclasses import strict
from transformers.utils.output_capturing import OutputRecorder

from workflow_scripts.chunked.configuration import ChunkingKeys
from workflow_scripts.chunked.layer_order import ChunkStage, SharedStage
from workflow_scripts.chunked.modeling import ChunkedForCausalLM, ChunkedModel

# As transformers names them, and whether the layers of several chunks can run as one.
_FUSIBLE = {
    "Qwen2": True,
    "Qwen3": True,
    "Llama": True,
    "Mistral": True,
    "Mixtral": False,
    "Qwen3Moe": False,
}
_RECORDED = {"hidden_states": [OutputRecorder(SharedStage), OutputRecorder(ChunkStage)]}


@dataclass(frozen=True)
class Architecture:
    config: type[ChunkingKeys]
    model: type[ChunkedModel]
    causal_lm: type[ChunkedForCausalLM]


def _make_class(name: str, *bases: type, **members) -> type:
    return type(name, bases, {"__module__": __name__, **members})


def _make_architecture(name: str) -> Architecture:
    base_config = getattr(transformers, f"{name}Config")
    base_model = getattr(transformers, f"{name}Model")
    base_lm = getattr(transformers, f"{name}ForCausalLM")
    config = strict(
        _make_class(
            f"{name}ChunkingConfig",
            ChunkingKeys,
            base_config,
            model_type=f"{base_config.model_type}_chunking",
        )
    )
    annotations = {"config": config}
    model = _make_class(
        f"{name}ChunkingModel",
        ChunkedModel,
        base_model,
        __annotations__=annotations,
        _can_record_outputs=base_model._can_record_outputs | _RECORDED,
        is_fusible=_FUSIBLE[name],
    )
    causal_lm = _make_class(
        f"{name}ChunkingForCausalLM",
        ChunkedForCausalLM,
        base_lm,
        __annotations__=annotations,
        _model_class=model,
    )
    return Architecture(config, model, causal_lm)


# By the model_type of the models that can be cut.
ARCHITECTURES = {
    getattr(transformers, f"{name}Config").model_type: _make_architecture(name) for name in _FUSIBLE
}
for _architecture in ARCHITECTURES.values():  # where pickle looks for them
    globals().update({made.__name__: made for made in vars(_architecture).values()})
