"""Select the trained parameters: all, named parts, or low-rank adapters."""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

import torch

from workflow_scripts.core.errors import UserError
from workflow_scripts.settings.training_keys import (
    CHUNKED_LAYERS,
    LAST_LAYERS,
    WRAPPER,
    TrainingKeys,
)

_WRAPPER_MODULE = "wrapped_chunk_layers"
_LAYER = re.compile(r"(?:^|\.)layers\.(\d+)\.")


def select_trainable(model, keys: TrainingKeys, *, upcast: bool = True):
    """Return the model with only the trained parameters requiring gradients, cast to float32 unless `upcast` is False.

    With the method lora, the returned model is wrapped by PEFT.
    """
    if keys.method == "lora":
        model = _add_adapters(model, keys)
    else:
        model.requires_grad_(keys.method == "full")
    for part in keys.trainable_modules:
        parameters = [p for name, p in model.named_parameters() if _is_in_part(model, name, part)]
        if not parameters:
            raise UserError(
                f"trainable_modules names {part!r}, of which {type(model).__name__} has no parameter; expected a"
                " part of the model."
            )
        for parameter in parameters:
            parameter.requires_grad_(True)
    if upcast:  # small updates are lost in 16 bits
        for parameter in get_trained_parameters(model).values():
            parameter.data = parameter.data.to(torch.promote_types(parameter.dtype, torch.float32))
    return model


def _is_in_part(model, name: str, part: str) -> bool:
    """Return whether a parameter is in a part named by `trainable_modules`."""
    if part == WRAPPER:
        return _WRAPPER_MODULE in name
    match = _LAYER.search(name)
    number = int(match[1]) if match and _WRAPPER_MODULE not in name else None
    if part == CHUNKED_LAYERS:
        chunks = model.config.plan().chunks if hasattr(model.config, "plan") else ()
        return any(number in chunk for chunk in chunks)
    if match := LAST_LAYERS.fullmatch(part):
        return number is not None and number >= model.config.num_hidden_layers - int(match[1])
    return fnmatchcase(name, part)


def _add_adapters(model, keys: TrainingKeys):
    from peft import LoraConfig, get_peft_model

    # A pruned layer is used only by the teacher.
    pruned = getattr(model.config, "layers_to_prune", None) or ()
    numbers = "|".join(str(number - 1) for number in pruned)
    config = LoraConfig(
        r=keys.lora_rank,
        lora_alpha=keys.lora_alpha,
        lora_dropout=keys.lora_dropout,
        target_modules=_get_target_modules(model, list(keys.lora_target_modules)),
        exclude_modules=rf".*\.layers\.({numbers})\..*" if pruned else None,
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, config)


def _get_target_modules(model, targets: list[str]) -> list[str] | str | None:
    """Return PEFT's target modules; "usual" means PEFT's defaults, for a chunked model those of its base."""
    from peft.utils.constants import (
        TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING as DEFAULT_TARGETS,
    )

    if targets == ["usual"]:
        return DEFAULT_TARGETS.get(model.config.model_type.removesuffix("_chunking"))
    return "all-linear" if targets == ["all-linear"] else targets


def get_trained_parameters(model) -> dict[str, torch.nn.Parameter]:
    return {name: p for name, p in model.named_parameters() if p.requires_grad}


def set_parameters(model, tensors: Mapping[str, torch.Tensor]) -> None:
    """Set all trained parameters to the given values; raise RuntimeError if their names differ."""
    if tensors.keys() != get_trained_parameters(model).keys():
        raise RuntimeError("The saved parameters are not those that are trained.")
    model.load_state_dict(tensors, strict=False)
