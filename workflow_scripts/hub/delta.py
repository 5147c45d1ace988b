"""Weights that were published as a difference to another model's, whose licence lets nobody pass them on."""

from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.hub.manifest import HubFile, Manifest, differing_sizes, read_manifest


def add_base(model: Any, manifest: Manifest, base_manifest: Path, dtype: Any) -> Manifest:
    """Add the base's weights to the model's, both in float32, and round the sum.

    The manifest then names both by their files.
    """
    import torch
    from transformers import AutoModelForCausalLM

    base = read_manifest(base_manifest)
    if problems := differing_sizes(base_manifest.parent, base):
        raise UserError(problems)
    other = AutoModelForCausalLM.from_pretrained(
        base_manifest.parent,
        dtype=torch.float32,
        use_safetensors=True,
        local_files_only=True,
        trust_remote_code=False,
    )
    deltas, weights = dict(model.named_parameters()), dict(other.named_parameters())
    shapes = {name: tuple(one.shape) for name, one in deltas.items()}
    if differing := {
        name
        for name in shapes.keys() | weights.keys()
        if name not in weights or shapes.get(name) != tuple(weights[name].shape)
    }:
        raise UserError(
            f"{manifest.repository} cannot be added to {base.repository}: {min(differing)} and"
            f" {len(differing) - 1} more of their weights differ in name or shape."
        )
    with torch.no_grad():
        for name, delta in deltas.items():
            # The weights alone: rounding the whole model would round the angles of its positions too.
            delta.data = (delta + weights[name]).to(dtype)
    of_base = tuple(
        HubFile(path=f"base/{file.path}", size=file.size, sha256=file.sha256)
        for file in base.files
        if file.path.endswith(".safetensors")
    )
    return manifest.model_copy(update={"files": manifest.files + of_base})
