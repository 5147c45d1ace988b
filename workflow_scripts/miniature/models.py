"""The miniature family: three architectures, two sizes or more of each, base and instruct."""

from dataclasses import dataclass

import torch
from transformers import (
    AutoModelForCausalLM,
    GPTNeoXConfig,
    LlamaConfig,
    PretrainedConfig,
    PreTrainedModel,
    Qwen2Config,
)

from workflow_scripts.miniature.families import LLAMA, PYTHIA, QWEN2, Family
from workflow_scripts.miniature.tokenizer import EMBEDDING_ROWS

CONTEXT = 2_048


@dataclass(frozen=True)
class Spec:
    """One model: its shape and how long it is trained at effort 1."""

    family: Family
    hidden: int
    inner: int
    layers: int
    heads: int
    kv_heads: int
    steps: int
    learning_rate: float
    base: str | None = None


# Trained side by side on two cores, all of them together take less than four minutes. The largest
# gets half of that: at this scale a model without enough text knows less than a smaller one with it.
SPECS = {
    "Llama-1.4M": Spec(LLAMA, 192, 448, 3, 4, 2, steps=1000, learning_rate=4e-3),
    "Llama-0.3M": Spec(LLAMA, 80, 160, 3, 2, 1, steps=260, learning_rate=6e-3),
    "Qwen2-1M": Spec(QWEN2, 64, 128, 24, 2, 1, steps=280, learning_rate=5e-3),
    "Qwen2-0.2M": Spec(QWEN2, 64, 128, 4, 2, 1, steps=250, learning_rate=6e-3),
    "Pythia-1M": Spec(PYTHIA, 128, 512, 4, 4, 4, steps=300, learning_rate=5e-3),
    "Pythia-0.1M": Spec(PYTHIA, 48, 192, 2, 2, 2, steps=250, learning_rate=8e-3),
    "Llama-1.4M-Instruct": Spec(
        LLAMA, 192, 448, 3, 4, 2, steps=70, learning_rate=1e-3, base="Llama-1.4M"
    ),
    "Qwen2-1M-Instruct": Spec(
        QWEN2, 64, 128, 24, 2, 1, steps=45, learning_rate=1e-3, base="Qwen2-1M"
    ),
}


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
