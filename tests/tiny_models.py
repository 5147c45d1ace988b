"""Models for tests: tiny, of every architecture, and of weights so far from the usual small ones that
what goes wrong shows, be it a wrong mask or a bias that is left out."""

import json
from pathlib import Path
from typing import Any

import torch
import transformers
import yaml
from transformers import AutoModelForCausalLM

from workflow_scripts.chunked.architectures import ARCHITECTURES
from workflow_scripts.hub.manifest import seal

VOCABULARY = 61
PLAN = {"num_layers_per_chunk": 2, "num_chunks": 2, "adapter_hidden_size": 6}
FAMILIES = ("qwen2", "qwen3", "llama")  # which can be cut into chunks
CHUNKED = ("fused", "loop")  # of six layers, of which the chunks hold 1 to 4
DISTILLED = {"distillation": True, "logits_distillation": True}
# By kind, transformers' name and what is peculiar: grouped queries, tied ends, caps, windows and scales.
_KINDS: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
)
# GPT-2's own words for the same.
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
    """Make a model with the same weights each time, unless the seed is None; `changes` are keys of its config."""
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
    move(model, 0.2, "norm", "bias")  # which start as ones and zeros
    if kind == "peft":
        from peft import LoraConfig, get_peft_model

        lora = LoraConfig(r=4, target_modules=["q_proj", "down_proj"], init_lora_weights=False)
        return get_peft_model(model, lora).eval()
    if kind == "pruned":  # the cache gets fewer layers than the config says, and the first none
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
    """Move parameters with one of these parts in their names away from what they start as."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if any(part in name for part in parts):
                parameter.add_(torch.randn_like(parameter) * deviation)


def base_model(family: str, layers: int, attention: str = "sdpa"):
    """Make a model with other weights each time."""
    return make_tiny_model(family, layers=layers, seed=None, attn_implementation=attention)


def chunked_model(base, **keys: Any):
    """Cut the base's weights into chunks, and add new modules that are not what they start as."""
    old = base.config
    shape = {k: v for k, v in old.to_dict().items() if k not in ("model_type", "architectures")}
    shape["head_dim"] = base.model.layers[0].self_attn.head_dim
    chunking = ARCHITECTURES[old.model_type].config
    keys = {"aggregation_base": "residual"} | keys  # as the config's checkpoints have it
    config = chunking(**shape, attn_implementation=old._attn_implementation, **keys)
    model = AutoModelForCausalLM.from_config(config).eval()
    missing = model.load_state_dict(base.state_dict(), strict=False)
    assert all("wrapped_chunk_layers" in name for name in missing.missing_keys)
    move(model, 0.1, "wrapped_chunk_layers")
    return model


def put_in_hub(
    model, folder: Path, tokenizer, repository: str = "org/base", **options: Any
) -> Path:
    """Save the model as the hub folder holds one; return the path of its manifest."""
    model.save_pretrained(folder, **options)
    tokenizer.save_pretrained(folder)
    return sealed(folder, repository, parameters=model.num_parameters(), architecture=type(model).__name__)  # fmt: skip


def sealed(folder: Path, repository: str = "org/base", **facts: Any) -> Path:
    """Write a manifest that vouches for what the folder holds; return its path."""
    usual = {"kind": "model", "source": "miniature", "revision": None, "licence": "mit"}
    seal(folder, repository=repository, **usual | facts)
    return folder / "manifest.json"


def edit_config(folder: Path, **keys: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))
