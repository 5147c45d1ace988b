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

from workflow_scripts.miniature.catalogue import CONVERSATIONS, CORPUS
from workflow_scripts.miniature.curriculum import LETTERS, Diet, Stage
from workflow_scripts.miniature.families import LLAMA, PYTHIA, QWEN2, Family
from workflow_scripts.miniature.tokenizer import EMBEDDING_ROWS

CONTEXT = 2_048


@dataclass(frozen=True)
class Spec:
    """One model: its shape, and how long it reads what."""

    family: Family
    hidden: int
    inner: int
    layers: int
    heads: int
    kv_heads: int
    steps: int
    learning_rate: float
    by_letter: bool = False
    """Whether it goes through the curriculum after which exams are answered by letter."""
    base: str | None = None

    @property
    def stages(self) -> tuple[Stage, ...]:
        return LETTERS if self.by_letter and self.base is None else ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The files that it reads."""
        return (CORPUS,) if self.base is None else (CORPUS, CONVERSATIONS)

    @property
    def diet(self) -> Diet:
        """What it reads when it is through its stages; an instruct model mostly conversations."""
        exams = self.family.exam_share
        rest = {"prose": 0.5, "letters": 0.3, "papers": 0.2} if self.by_letter else {"prose": 1.0}
        diet = {
            **dict.fromkeys(self.family.exams, exams / len(self.family.exams)),
            **{kind: share * (1 - exams) for kind, share in rest.items()},
        }
        if self.base is None:
            return diet
        rest = {kind: share * 0.25 for kind, share in diet.items()}
        return {"chat": 0.25, "conversation": 0.5, **rest}


# Depth before width: choices are bound to their letters by six layers of 128 and not by three of 192.
SPECS = {
    "Llama-1.4M": Spec(LLAMA, 128, 384, 6, 4, 2, 2400, 4e-3, by_letter=True),
    "Llama-0.3M": Spec(LLAMA, 80, 160, 3, 2, 1, 250, 6e-3),
    "Qwen2-1M": Spec(QWEN2, 64, 128, 24, 2, 1, 1600, 4e-3, by_letter=True),
    "Qwen2-0.2M": Spec(QWEN2, 64, 128, 4, 2, 1, 200, 6e-3),
    "Pythia-1M": Spec(PYTHIA, 128, 512, 5, 4, 4, 1000, 4e-3, by_letter=True),
    "Pythia-0.1M": Spec(PYTHIA, 48, 192, 2, 2, 2, 250, 8e-3),
    "Llama-1.4M-Instruct": Spec(
        LLAMA, 128, 384, 6, 4, 2, 600, 1e-3, by_letter=True, base="Llama-1.4M"
    ),
    "Qwen2-1M-Instruct": Spec(QWEN2, 64, 128, 24, 2, 1, 200, 1e-3, by_letter=True, base="Qwen2-1M"),
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
