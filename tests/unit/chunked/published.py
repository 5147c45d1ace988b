"""Save models in the format of the published code: its names of the added weights, and its config.json.

Published adapters are `chunk_layers_<chunk>.adapter_<depth>`, and its aggregation is `aggregation_head`.
"""

import json

from safetensors.torch import load_file, save_file

from tests.tiny_models import base_model, chunked_model

WRAPPER = "model.wrapped_chunk_layers"
AGGREGATION = f"{WRAPPER}.aggregation"
# The chunks of a model with six layers.
PLANS = {
    "uniform_with_shared_start_and_end": [[1, 3], [2, 4]],
    "sequential_with_shared_start_and_end": [[1, 2], [3, 4]],
    "uniform": [[0, 3], [1, 4], [2, 5]],
    "sequential_with_shared_start": [[2, 3], [4, 5]],
}
_NEW_KEYS = {"rope_parameters", "layer_types", "dtype", "aggregation_base", "chunk_execution"}


def save_published(folder, family="qwen2", mode="uniform_with_shared_start_and_end", **keys):
    """Save a published model with a config.json of transformers 4; return its base model and the chunked model."""
    base = base_model(family, 6)
    plan = {"num_layers_per_chunk": 2, "chunking_mode": mode, **keys}
    if mode.endswith("start_and_end"):
        plan["num_chunks"] = 2
    # The published code's adapters are as wide as the MLP.
    model = chunked_model(base, **plan, aggregation_base="none", adapter_hidden_size=40)
    model.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    rope = config["rope_parameters"]["rope_theta"]
    config = {key: value for key, value in config.items() if key not in _NEW_KEYS}
    for key in ("adapter_init", "distillation_loss"):
        config.pop(key, None)
    config |= {"rope_theta": rope, "rope_scaling": None, "torch_dtype": "float32"}
    config |= {"num_chunks": 2, "adapter_hidden_size": 7}  # the published code ignores these
    (folder / "config.json").write_text(json.dumps(config))
    names = {f"{AGGREGATION}.proj": f"{WRAPPER}.aggregation_head.linear"}
    names |= {f"{AGGREGATION}.": f"{WRAPPER}.aggregation_head.mlp."}
    for chunk, numbers in enumerate(PLANS[mode]):
        for depth, number in enumerate(numbers):
            published = f"{WRAPPER}.chunk_layers_{chunk}.adapter_{depth}."
            names[f"{WRAPPER}.adapters.{number}."] = published
    rewrite(folder, lambda weights: {_rename(name, names): weights[name] for name in weights})
    return base, model


def _rename(name: str, names: dict[str, str]) -> str:
    for own, published in names.items():
        if name.startswith(own):
            return published + name.removeprefix(own)
    return name


def rewrite(folder, change):
    """Change the named tensors of a folder with `change`; tensors set to None are removed."""
    path = folder / "model.safetensors"
    weights = change(load_file(path))
    weights = {name: weight for name, weight in weights.items() if weight is not None}
    save_file(weights, path, metadata={"format": "pt"})
