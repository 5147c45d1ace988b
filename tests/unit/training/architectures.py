"""Models of the architectures that are trained, small and at random weights far from the usual ones."""

from typing import Any

import torch
import transformers

from tests.unit.training.small import model_of

VOCABULARY = 61
_NAMES = {
    "gpt2": "GPT2",
    "gpt_neox": "GPTNeoX",
    "llama": "Llama",
    "qwen2": "Qwen2",
    "qwen3": "Qwen3",
    "gemma": "Gemma",
    "gemma2": "Gemma2",
    "cohere": "Cohere",
    "granite": "Granite",
}
_SHAPE: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 1024,
    "initializer_range": 0.2,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": 0,
}
# What is peculiar to each: grouped queries, tied ends, caps, windows and scales.
_MORE: dict[str, dict[str, Any]] = {
    "llama": {"num_key_value_heads": 2},
    "qwen2": {"num_key_value_heads": 1, "tie_word_embeddings": True},
    "qwen3": {"num_key_value_heads": 2, "head_dim": 16},
    "gemma": {"num_key_value_heads": 1, "head_dim": 16},
    "gemma2": {
        "num_key_value_heads": 2,
        "head_dim": 16,
        "sliding_window": 9,
        "final_logit_softcapping": 2.0,
        "attn_logit_softcapping": 3.0,
        "attn_implementation": "eager",
    },
    "cohere": {"num_key_value_heads": 2, "logit_scale": 0.3},
    "granite": {"num_key_value_heads": 2, "logits_scaling": 4.0},
    "gpt2": {"attn_pdrop": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0},
}
KINDS = (*_NAMES, "fused")


def tiny(kind: str, **changes: Any):
    if kind == "fused":  # a chunked model
        return model_of("fused")
    torch.manual_seed(0)
    shape = _SHAPE | _MORE.get(kind, {}) | changes
    if kind == "gpt2":  # its own words for the same
        words = {"intermediate_size": "n_inner", "max_position_embeddings": "n_positions"}
        words |= {"hidden_size": "n_embd", "num_hidden_layers": "n_layer"}
        words |= {"num_attention_heads": "n_head"}
        shape = {words.get(name, name): value for name, value in shape.items()}
    config = getattr(transformers, f"{_NAMES[kind]}Config")(**shape)
    of_model = "LMHeadModel" if kind == "gpt2" else "ForCausalLM"
    return getattr(transformers, f"{_NAMES[kind]}{of_model}")(config).eval()
