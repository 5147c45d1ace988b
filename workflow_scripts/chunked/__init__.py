"""Chunked models: k chunks of m layers side by side. Importing this makes transformers know them.

import workflow_scripts.chunked
model = AutoModelForCausalLM.from_pretrained(folder)  # "model_type": "qwen2_chunking"
"""

from transformers import AutoConfig, AutoModel, AutoModelForCausalLM
from transformers.conversion_mapping import (
    get_checkpoint_conversion_mapping,
    register_checkpoint_conversion_mapping,
)

from workflow_scripts.chunked.architectures import ARCHITECTURES
from workflow_scripts.chunked.modeling import ChunkedForCausalLM

__all__ = ["ChunkedForCausalLM"]

for _base, _architecture in ARCHITECTURES.items():
    _model_type = _architecture.config.model_type
    AutoConfig.register(_model_type, _architecture.config, exist_ok=True)
    AutoModel.register(_architecture.config, _architecture.model, exist_ok=True)
    AutoModelForCausalLM.register(_architecture.config, _architecture.causal_lm, exist_ok=True)
    # A file has each expert by itself, and a model all of a layer as one.
    if _weights := get_checkpoint_conversion_mapping(_base):
        register_checkpoint_conversion_mapping(_model_type, _weights, overwrite=True)
