"""A miniature model before its training: the real architecture's configuration at its size."""

import torch
from transformers import (
    AutoModelForCausalLM,
    GPTNeoXConfig,
    LlamaConfig,
    PretrainedConfig,
    PreTrainedModel,
    Qwen2Config,
)

from workflow_scripts.miniature.families import LLAMA, PYTHIA
from workflow_scripts.miniature.specs import Spec
from workflow_scripts.miniature.tokenizer import EMBEDDING_ROWS

CONTEXT = 2_048


def make_config(spec: Spec, *, bos: int | None, eos: int, pad: int) -> PretrainedConfig:
    """The real architecture's configuration at this size; embeddings tied, or they would be most of it."""
    common = {
        "vocab_size": EMBEDDING_ROWS,
        "hidden_size": spec.hidden,
        "intermediate_size": spec.inner,
        "num_hidden_layers": spec.layers,
        "num_attention_heads": spec.heads,
        "max_position_embeddings": CONTEXT,
        # The usual 0.02 suits widths of a thousand; so narrow, it would cost half of the training.
        "initializer_range": spec.hidden**-0.5,
        "tie_word_embeddings": True,
        "bos_token_id": bos,
        "eos_token_id": eos,
        "pad_token_id": pad,
    }
    if spec.family is PYTHIA:
        return GPTNeoXConfig(**common)
    kind = LlamaConfig if spec.family is LLAMA else Qwen2Config
    return kind(**common, num_key_value_heads=spec.kv_heads)


def make_model(config: PretrainedConfig) -> PreTrainedModel:
    """A fresh model whose residual branches start small, so that 24 layers train as well as four."""
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    writes_to_residual = ("o_proj", "down_proj", "attention.dense", "dense_4h_to_h")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.removesuffix(".weight").endswith(writes_to_residual):
                parameter /= (2 * config.num_hidden_layers) ** 0.5
    return model
