"""Load delta weights, published as the difference to a base model whose licence forbids redistribution."""

from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.manifest import Manifest, read_manifest, require_unchanged
from workflow_scripts.hub.served import OFFLINE


def add_base(model: Any, manifest: Manifest, base_manifest: Path, dtype: Any) -> Manifest:
    """Add the base model's weights to the deltas in float32, and cast the sum to `dtype`.

    The returned manifest lists the weight files of both.
    """
    import torch
    from transformers import AutoModelForCausalLM

    base = read_manifest(base_manifest)
    require_unchanged(base_manifest.parent, base)
    base_model = AutoModelForCausalLM.from_pretrained(
        base_manifest.parent, dtype=torch.float32, use_safetensors=True, **OFFLINE
    )
    deltas, weights = dict(model.named_parameters()), dict(base_model.named_parameters())
    if {name: delta.shape for name, delta in deltas.items()} != {
        name: weight.shape for name, weight in weights.items()
    }:
        raise UserError(
            f"{manifest.repository} cannot be added to {base.repository}: their weights differ in name or"
            " shape."
        )
    with torch.no_grad():
        for name, delta in deltas.items():
            # Cast only the weights: casting the model would cast its rotary frequencies too.
            delta.data = (delta + weights[name]).to(dtype)
    base_weights = tuple(
        file.model_copy(update={"path": f"base/{file.path}"})
        for file in base.files
        if file.path.endswith(".safetensors")
    )
    return manifest.model_copy(update={"files": manifest.files + base_weights})
