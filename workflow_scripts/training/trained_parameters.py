"""What of a model is trained: all of it, named parts, or low-rank adapters and named parts."""

import re
from collections import Counter
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

import torch

from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.training_keys import (
    CHUNKED_LAYERS,
    LAST_LAYERS,
    LAYERS,
    WRAPPER,
    TrainingKeys,
)

_WRAPPER_MODULE = "wrapped_chunk_layers"
_LAYER = re.compile(r"(?:^|\.)layers\.(\d+)\.")


def choose_parts(model, keys: TrainingKeys, *, exact: bool = True):
    """The model with gradients on for what is trained, in float32 where it is to be exact, and off for all else."""
    named = dict(model.named_parameters())
    in_full = set(named) if keys.method == "full" else _matching(model, named, keys.trains)
    if keys.method == "lora":
        model = _with_adapters(model, in_full, keys)
    else:
        model.requires_grad_(False)
    for name in in_full:
        named[name].requires_grad_(True)
    for parameter in model.parameters() if exact else ():
        wide = torch.promote_types(parameter.dtype, torch.float32)
        if parameter.requires_grad and parameter.dtype != wide:  # small steps vanish in 16 bits
            parameter.data = parameter.data.to(wide)
    return model


def _matching(model, named: dict[str, Any], trains: tuple[str, ...]) -> set[str]:
    chosen = set()
    for part in trains:
        match, layers = LAYERS.fullmatch(part), model.config.num_hidden_layers
        if match and int(match[2] or match[1]) >= layers:
            raise UserError(
                f"trains names {part!r}, and {type(model).__name__} has the layers 0 to {layers - 1}."
            )
        found = {name for name in named if _belongs(model, name, part)}
        if not found:
            raise UserError(
                f"trains names {part!r}, of which {type(model).__name__} has no parameter; expected a"
                " part of the model."
            )
        chosen |= found
    return chosen


def _belongs(model, name: str, part: str) -> bool:
    if part == WRAPPER:
        return _WRAPPER_MODULE in name
    number = _layer_number(name)
    if part == CHUNKED_LAYERS:
        chunks = model.config.plan().chunks if hasattr(model.config, "plan") else ()
        return any(number in chunk for chunk in chunks)
    if match := LAYERS.fullmatch(part):
        first = int(match[1])
        return number is not None and first <= number <= int(match[2] or first)
    if match := LAST_LAYERS.fullmatch(part):
        return number is not None and number >= model.config.num_hidden_layers - int(match[1])
    return fnmatchcase(name, part)


def _layer_number(name: str) -> int | None:
    match = _LAYER.search(name)
    return int(match[1]) if match and _WRAPPER_MODULE not in name else None


def _with_adapters(model, in_full: set[str], keys: TrainingKeys):
    from peft import LoraConfig, get_peft_model

    targets = list(keys.lora_targets)
    # A layer trained in full needs no adapter beside that.
    excluded = {name.rpartition(".")[0] for name in in_full}
    # A layer that is left out is there for its teacher alone.
    left_out = set(getattr(model.config, "layers_to_prune", None) or ())
    excluded |= {
        name
        for name, _ in model.named_modules()
        if left_out and (_layer_number(f"{name}.") or 0) + 1 in left_out
    }
    config = LoraConfig(
        r=keys.lora_rank,
        lora_alpha=keys.lora_alpha,
        lora_dropout=keys.lora_dropout,
        target_modules=_targets(model, targets),
        exclude_modules="|".join(map(re.escape, sorted(excluded))) or None,
        task_type="CAUSAL_LM",
    )
    try:
        return get_peft_model(model, config)
    except ValueError as error:
        raise UserError(
            f"lora_targets is {targets}; {type(model).__name__} cannot take adapters there: {error}"
        ) from None


def _targets(model, targets: list[str]) -> list[str] | str:
    if targets == ["all-linear"]:
        return "all-linear"
    if targets != ["usual"]:
        return targets
    from peft.utils.constants import TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING as USUAL

    # A chunked model's layers are those of the model it was cut from.
    kind = model.config.model_type.removesuffix("_chunking")
    if kind not in USUAL:
        raise UserError(
            f"lora_targets is 'usual', and PEFT has none for models of the type {kind!r}; name them, or"
            " write all-linear."
        )
    return list(USUAL[kind])


def trained_parameters(model) -> dict[str, torch.nn.Parameter]:
    return {name: p for name, p in model.named_parameters() if p.requires_grad}


def copy_parameters(model) -> dict[str, torch.Tensor]:
    """Copy what is trained to the CPU."""
    trained = trained_parameters(model).items()
    return {name: p.detach().to("cpu", copy=True).contiguous() for name, p in trained}


def set_parameters(model, tensors: Mapping[str, torch.Tensor]) -> None:
    """Give all trained parameters these values."""
    trained = trained_parameters(model)
    if tensors.keys() != trained.keys():
        odd = sorted(tensors.keys() ^ trained.keys())
        raise RuntimeError(f"What is trained and what was saved differ in {odd[:5]}.")
    for name, tensor in tensors.items():
        trained[name].data.copy_(tensor)


def report(model, method: str) -> dict[str, Any]:
    """What will be trained, for people to read before the first step."""
    bare = model.get_base_model() if method == "lora" else model
    groups: Counter[str] = Counter()
    for name, parameter in trained_parameters(model).items():
        groups[_group(name)] += parameter.numel()
    return {
        "method": method,
        "architecture": type(bare).__name__,
        "parameters": sum(p.numel() for p in model.parameters()),
        "trained_parameters": sum(groups.values()),
        "trained": dict(sorted(groups.items())),
        "dtypes": dict(sorted(Counter(_dtype(p) for p in model.parameters()).items())),
        "attention": model.config._attn_implementation,
    }


def _group(name: str) -> str:
    if "lora_" in name:
        return "low-rank adapters"
    if _WRAPPER_MODULE in name:
        return "adapters and aggregation of the chunks"
    if _layer_number(name) is not None:
        return "layers"
    return "embeddings, output and norms"


def _dtype(parameter: torch.Tensor) -> str:
    use = "trained" if parameter.requires_grad else "fixed"
    return f"{use} in {str(parameter.dtype).removeprefix('torch.')}"
