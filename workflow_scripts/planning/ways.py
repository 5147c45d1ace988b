"""How a recipe trains a model of some size, before the model is there: which share of its weights, and how."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.planning.memory import Method, Size, TrainingWay
from workflow_scripts.settings.training_keys import (
    CHUNKED_LAYERS,
    LAST_LAYERS,
    LAYERS,
    WRAPPER,
    TrainingKeys,
)

# What a layer's matrices have in squares of the width, by the names that most models have for them.
_OF_A_LAYER = {f"self_attn.{x}_proj.weight": 1.0 for x in "qkvo"}
_OF_A_LAYER |= {f"mlp.{x}_proj.weight": 8 / 3 for x in ("gate", "up", "down")}
_NORMS_OF_A_LAYER = ("input_layernorm.weight", "post_attention_layernorm.weight")
_OF_THE_WRAPPER = 0.1  # of a chunked model's parameters, where its adapters are wide
_OF_ALL = 1.0  # of a pattern that fits no usual name


def way_of(keys: TrainingKeys, size: Size, checkpoint: CheckpointId) -> TrainingWay:
    """Of a recipe by which this checkpoint is trained, or made."""
    plan = re.fullmatch(r"k(\d+)m(\d+)", checkpoint.plan or "")
    chunked = int(plan[1]) * int(plan[2]) if plan else 0  # layers
    return TrainingWay(
        method_of(keys),
        keys.lora_rank,
        min(1.0, sum(_share(part, size, chunked) for part in set(keys.trains))),
        distilled=checkpoint.distillation is not None,
    )


def method_of(keys: TrainingKeys) -> Method:
    few = keys.method == "lora" and "all-linear" not in keys.lora_targets
    return "lora_in_some" if few else keys.method


def _share(part: str, size: Size, chunked: int) -> float:
    """Of all parameters; parts that overlap are counted twice, which is on the safe side."""
    if part == WRAPPER or "wrapped_chunk_layers" in part:
        return _OF_THE_WRAPPER
    if part == CHUNKED_LAYERS:
        return chunked / size.layers
    if match := LAYERS.fullmatch(part):
        return (int(match[2] or match[1]) - int(match[1]) + 1) / size.layers
    if match := LAST_LAYERS.fullmatch(part):
        return int(match[1]) / size.layers
    found = [count for name, count in _usual_names(size) if fnmatchcase(name, part)]
    return sum(found) / size.parameters if found else _OF_ALL


def _usual_names(size: Size) -> Iterator[tuple[str, float]]:
    """The parameters of a model of this size, and how many numbers each has."""
    square = size.parameters / size.layers / sum(_OF_A_LAYER.values())
    numbers = {name: squares * square for name, squares in _OF_A_LAYER.items()}
    numbers |= dict.fromkeys(_NORMS_OF_A_LAYER, size.width)
    for layer in range(size.layers):
        yield from ((f"model.layers.{layer}.{name}", n) for name, n in numbers.items())
    yield "model.norm.weight", size.width
    yield from ((f"{name}.weight", size.ends) for name in ("model.embed_tokens", "lm_head"))
