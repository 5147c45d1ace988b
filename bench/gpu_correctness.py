"""Every architecture of the published grid on the device beside float32 on the CPU, at random weights."""

import copy
import random
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from bench.gpu_setting import Setting, Table, tokenizer_of
from workflow_scripts.hub.load import attend_without_plans

_VOCABULARY, _WINDOW = 1_000, 256
# What each calls its sizes; sliding windows are shorter than the longest request.
_USUAL = {
    **{"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 4},
    **{"num_attention_heads": 4, "max_position_embeddings": _WINDOW},
}
_GROUPED = _USUAL | {"num_key_value_heads": 2}
_HEAD = {"head_dim": 64}
ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "GPT-2": ("gpt2", {"n_embd": 256, "n_layer": 4, "n_head": 4, "n_positions": _WINDOW}),
    "Pythia": ("gpt_neox", _USUAL),
    "Llama 3, Yi": ("llama", _GROUPED),
    "Qwen1.5": ("qwen2", _USUAL | {"num_key_value_heads": 4}),
    "Qwen2, Qwen2.5": ("qwen2", _GROUPED),
    "Qwen3": ("qwen3", _GROUPED | _HEAD),
    "Gemma": ("gemma", _GROUPED | _HEAD),
    "Gemma 2": ("gemma2", _GROUPED | _HEAD | {"sliding_window": 32, "query_pre_attn_scalar": 64}),
}
# What transformers' own forward is off by on the same device is the measure.
_TIMES_PLAIN, _AT_LEAST = 3.0, 1e-3


def run(setting: Setting) -> list[Table]:
    table = Table(
        "Correctness",
        "The largest difference of a log-likelihood from float32 on the CPU, by transformers' own forward and by"
        f" the engine, on the same device. Right: the engine's is at most {_TIMES_PLAIN:g} times the other's, or"
        f" {_AT_LEAST:g}.",
        ("architecture", "format", "transformers", "engine", "right", "run by"),
    )
    attend_without_plans()
    requests = _requests(setting.seed)
    chosen = list(ARCHITECTURES)[-2:] if setting.small else list(ARCHITECTURES)
    for name in chosen:
        kind, sizes = ARCHITECTURES[name]
        torch.manual_seed(setting.seed)
        config = AutoConfig.for_model(
            kind, vocab_size=_VOCABULARY, bos_token_id=0, eos_token_id=0, pad_token_id=0, **sizes
        )
        base = AutoModelForCausalLM.from_config(config).eval()
        expected = _plain(base, requests)
        formats = (torch.float32, torch.bfloat16) if not setting.small else (torch.float32,)
        for dtype in formats:
            model = as_loaded(base, setting.device, dtype)
            plain = _furthest(_plain(model, requests), expected)
            found, how = _engine(model, requests)
            ours = _furthest(found, expected)
            right = ours <= max(_TIMES_PLAIN * plain, _AT_LEAST)
            table.rows.append(
                (
                    name,
                    str(dtype).removeprefix("torch."),
                    plain,
                    ours,
                    "yes" if right else "NO",
                    how,
                )
            )
    return [table]


def as_loaded(base, device: str, dtype: torch.dtype):
    """As from_pretrained gives it: rotary frequencies, which are no parameters, are not rounded."""
    model = copy.deepcopy(base).to(device)
    for parameter in model.parameters():
        parameter.data = parameter.data.to(dtype)
    return model


def _requests(seed: int) -> list[tuple[None, list[int], list[int]]]:
    rng = random.Random(seed)

    def tokens(count: int) -> list[int]:
        return [rng.randrange(4, _VOCABULARY) for _ in range(count)]

    shared = [tokens(60), tokens(30)]
    contexts = [prefix + tokens(rng.randint(1, 20)) for prefix in shared for _ in range(4)]
    return [(None, context, tokens(rng.randint(1, 6))) for context in contexts for _ in range(3)]


def _plain(model, requests: list) -> list[float]:
    found = []
    for _, context, target in requests:
        ids = torch.tensor([context + target], device=model.device)
        with torch.inference_mode():
            logits = model(ids, use_cache=False).logits[0, len(context) - 1 : -1]
        logs = torch.log_softmax(logits.float(), -1)
        found.append(float(logs.gather(1, ids[0, len(context) :, None]).sum()))
    return found


def _engine(model, requests: list) -> tuple[list[float], str]:
    from workflow_scripts.evaluation.prefix_lm import PrefixLM

    lm = PrefixLM(pretrained=model, tokenizer=tokenizer_of(_VOCABULARY), batch_size=8)
    found = lm._loglikelihood_tokens(requests, disable_tqdm=True)
    return [value for value, _ in found], lm.engine.description if lm.engine else "plain batches"


def _furthest(found: list[float], expected: list[float]) -> float:
    return max(abs(a - b) for a, b in zip(found, expected, strict=True))
