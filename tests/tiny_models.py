"""Build tiny models of every architecture for tests.

Their weights are larger than usual, so that an error such as a wrong mask or a missing bias changes the output.
"""

import json
from pathlib import Path
from typing import Any

import torch
import transformers
import yaml
from transformers import AutoModelForCausalLM

from workflow_scripts.chunked.architectures import ARCHITECTURES
from workflow_scripts.hub.manifest import write_manifest

VOCABULARY = 61
PLAN = {"num_layers_per_chunk": 2, "num_chunks": 2, "adapter_hidden_size": 6}
FAMILIES = ("qwen2", "qwen3", "llama")  # chunked families in tests; Mistral has the layers of Llama
CHUNKED = ("fused", "loop")  # kinds with six layers; the layers 1 to 4 are in chunks
DISTILLED = {"distillation": True, "logits_distillation": True}
# For each kind, the name in transformers and special config keys: grouped queries, tied embeddings, soft caps,
# sliding windows and scales.
_KINDS: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
)
# GPT-2's names of config keys.
_WORDS = {
    **{"intermediate_size": "n_inner", "max_position_embeddings": "n_positions"},
    **{"hidden_size": "n_embd", "num_hidden_layers": "n_layer", "num_attention_heads": "n_head"},
}


def make_tiny_model(
    kind: str,
    vocabulary: int = VOCABULARY,
    window: int = 1024,
    *,
    layers: int = 3,
    seed: int | None = 0,
    **changes: Any,
):
    """Build a model with equal weights in each call, unless `seed` is None; `changes` are keys of its config."""
    if seed is not None:
        torch.manual_seed(seed)
    if kind in (*CHUNKED, "distilled"):
        base = make_tiny_model("qwen2", layers=6, seed=None, **changes)
        return chunked_model(
            base, **PLAN, **(DISTILLED if kind == "distilled" else {"chunk_execution": kind})
        )
    shape = _make_shape(vocabulary, layers, window)
    peculiar = dict(_KINDS.get(kind, _KINDS["qwen2"]))
    config_class = getattr(transformers, f"{peculiar.pop('name')}Config")
    keys = shape | peculiar | changes
    if kind == "gpt2":
        keys = {_WORDS.get(name, name): value for name, value in keys.items()}
    model = AutoModelForCausalLM.from_config(config_class(**keys)).eval()
    move(model, 0.2, "norm", "bias")  # initialised with ones and zeros
    if kind == "peft":
        from peft import LoraConfig, get_peft_model

        lora = LoraConfig(r=4, target_modules=["q_proj", "down_proj"], init_lora_weights=False)
        return get_peft_model(model, lora).eval()
    if kind == "pruned":  # the cache has fewer layers than the config, and none for the first
        model.model.layers = model.model.layers[1:]
        model.config.num_hidden_layers = layers
    return model


def _make_shape(vocabulary: int, layers: int, window: int) -> dict[str, Any]:
    return {
        "vocab_size": vocabulary,
        "max_position_embeddings": window,
        "hidden_size": 32,
        "intermediate_size": 40,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "initializer_range": 0.2,
        **dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"), 0),
    }


def move(model, deviation: float, *parts: str) -> None:
    """Add noise to the parameters with one of `parts` in their names."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if any(part in name for part in parts):
                parameter.add_(torch.randn_like(parameter) * deviation)


def base_model(family: str, layers: int, attention: str = "sdpa"):
    """Build a model with different weights in each call."""
    return make_tiny_model(family, layers=layers, seed=None, attn_implementation=attention)


def chunked_model(base, **keys: Any):
    """Build a chunked model with the weights of `base`, and add noise to its new modules."""
    old = base.config
    shape = {k: v for k, v in old.to_dict().items() if k not in ("model_type", "architectures")}
    shape["head_dim"] = base.model.layers[0].self_attn.head_dim
    chunking = ARCHITECTURES[old.model_type].config
    keys = {"aggregation_base": "residual"} | keys  # default of the config's checkpoints
    config = chunking(**shape, attn_implementation=old._attn_implementation, **keys)
    model = AutoModelForCausalLM.from_config(config).eval()
    missing = model.load_state_dict(base.state_dict(), strict=False)
    assert all("wrapped_chunk_layers" in name for name in missing.missing_keys)
    move(model, 0.1, "wrapped_chunk_layers")
    return model


def put_in_hub(
    model, folder: Path, tokenizer, repository: str = "org/base", **options: Any
) -> Path:
    """Save the model in the format of the hub folder; return the path of its manifest."""
    model.save_pretrained(folder, **options)
    tokenizer.save_pretrained(folder)
    return sealed(folder, repository, parameters=model.num_parameters(), architecture=type(model).__name__)  # fmt: skip


def sealed(folder: Path, repository: str = "org/base", **facts: Any) -> Path:
    """Write a manifest with the checksums of the folder's files; return its path."""
    usual = {"kind": "model", "source": "miniature", "revision": None, "licence": "mit"}
    write_manifest(folder, repository=repository, **usual | facts)
    return folder / "manifest.json"


def edit_config(folder: Path, **keys: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))
