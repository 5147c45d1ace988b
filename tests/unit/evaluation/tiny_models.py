"""Small random models of several architectures, and requests that share prefixes."""

import random

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

VOCABULARY = 300
WINDOW = 128


def fresh_seed() -> int:
    """New inputs each time; shown when a test fails, so that it can be run again."""
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    return seed


# What config/models.tsv holds beside the kinds below.
_OTHERS = {
    "gpt2": ("GPT2", {"n_inner": 96}),
    "qwen1.5": ("Qwen2", {"num_key_value_heads": 4}),
    "qwen3": ("Qwen3", {"num_key_value_heads": 2, "head_dim": 16}),
    "gemma": ("Gemma", {"num_key_value_heads": 1, "head_dim": 16}),
    "gemma2": (
        "Gemma2",
        {
            "num_key_value_heads": 2,
            "head_dim": 16,
            "sliding_window": 9,
            "attn_logit_softcapping": 2.0,
            "final_logit_softcapping": 5.0,
            "query_pre_attn_scalar": 24,
            "attn_implementation": "eager",
        },
    ),
}


def make_model(kind: str, vocabulary: int = VOCABULARY, window: int = WINDOW, layers: int = 3):
    """Far from its initialisation's usual small weights, so that a wrong mask shows."""
    import transformers
    from transformers import (
        GPTNeoXConfig,
        GPTNeoXForCausalLM,
        LlamaConfig,
        LlamaForCausalLM,
        MistralConfig,
        MistralForCausalLM,
        Qwen2Config,
        Qwen2ForCausalLM,
    )

    torch.manual_seed(0)
    shape = {
        "vocab_size": vocabulary,
        "hidden_size": 48,
        "intermediate_size": 96,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "max_position_embeddings": window,
        "initializer_range": 0.2,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "pad_token_id": 0,
    }
    if kind in _OTHERS:
        name, options = _OTHERS[kind]
        config = getattr(transformers, f"{name}Config")(**shape | options)
        return transformers.AutoModelForCausalLM.from_config(config).eval()
    if kind == "llama":
        model = LlamaForCausalLM(LlamaConfig(num_key_value_heads=1, **shape))
    elif kind == "gpt_neox":
        model = GPTNeoXForCausalLM(GPTNeoXConfig(**shape))
    elif kind == "windowed":
        model = MistralForCausalLM(MistralConfig(num_key_value_heads=2, sliding_window=9, **shape))
    else:
        options = {"num_key_value_heads": 2}
        if kind == "some_windowed":
            options |= {"use_sliding_window": True, "sliding_window": 9, "max_window_layers": 1}
        if kind == "eager":
            options["attn_implementation"] = "eager"
        model = Qwen2ForCausalLM(Qwen2Config(**options, **shape))
    if kind == "peft":
        from peft import LoraConfig, get_peft_model

        lora = LoraConfig(r=4, target_modules=["q_proj", "down_proj"], init_lora_weights=False)
        model = get_peft_model(model, lora)
    if kind == "pruned":  # the cache gets fewer layers than the config says, and the first none
        model.model.layers = model.model.layers[1:]
        model.config.num_hidden_layers = layers
    return model.eval()


class WithoutCache(nn.Module):
    """A model that knows of tokens only, as a custom one may."""

    def __init__(self, vocabulary: int = VOCABULARY):
        super().__init__()
        self.inner = make_model("qwen2", vocabulary)
        self.config = self.inner.config
        self.device = self.inner.device

    def tie_weights(self):
        pass

    def forward(self, input_ids):
        return self.inner(input_ids)


class Requests:
    def __init__(self, seed: int, vocabulary: int = VOCABULARY):
        self._rng = random.Random(seed)
        self._vocabulary = vocabulary

    def tokens(self, least: int, most: int | None = None) -> list[int]:
        length = self._rng.randint(least, most or least)
        return [self._rng.randrange(1, self._vocabulary) for _ in range(length)]

    def contexts(self, subjects: int = 2, questions: int = 5) -> list[list[int]]:
        """Questions after few-shot examples; one is a part of another."""
        found = []
        for _ in range(subjects):
            examples = self.tokens(40, 50)
            found += [examples + self.tokens(3, 20) for _ in range(questions)]
        return [*found, found[0][:30]]

    def mixed(self) -> list[tuple[list[int], list[int]]]:
        """Letters, endings (one the start of another), and some that share nothing; shuffled."""
        requests = []
        for context in self.contexts():
            requests += [(context, [letter]) for letter in (5, 6, 7)]
            ending = self.tokens(4, 6)
            requests += [(context, ending), (context, [*ending, 9]), (context, self.tokens(2, 7))]
        requests += [(self.tokens(1, 40), self.tokens(1, 6)) for _ in range(12)]
        requests.append(requests[0])
        self._rng.shuffle(requests)
        return requests


def plain_score(model, context: list[int], target: list[int], window: int = WINDOW):
    """One sequence at a time, without cache, mask or batch."""
    tokens = [*context, *target][-(window + 1) :]
    with torch.no_grad():
        logits = model(torch.tensor([tokens[:-1]])).logits[0, -len(target) :]
    chosen = logits.log_softmax(-1)[range(len(target)), target]
    return chosen.sum().item(), logits.argmax(-1).tolist() == target


class Operations(TorchDispatchMode):
    """The names of the operations that run."""

    def __init__(self):
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.name())
        return func(*args, **(kwargs or {}))
