"""Build a chunked checkpoint from a model of the hub folder, without loading the model.

The base model's weights keep their names in a chunked model, so their files are linked (copied
where the disk cannot link) and never read. New weights (adapters and aggregation) are initialised
and written to a separate file; config.json holds the chunk plan.
"""

import json
from pathlib import Path
from typing import Any

from pydantic import validate_call

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import open_atomic_dir, write_json
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.model_files import read_json_object
from workflow_scripts.hub.link_files import link_or_copy
from workflow_scripts.hub.manifest import (
    HubFile,
    Manifest,
    hash_files,
    read_manifest,
    require_unchanged,
    write_manifest,
)
from workflow_scripts.settings.checkpoint import Checkpoint

NEW_WEIGHTS = "wrapped_chunk_layers.safetensors"
_CONFIG = "config.json"
_WEIGHTS = "model.safetensors"
_WEIGHTS_INDEX = "model.safetensors.index.json"
_BASE_WEIGHTS = (
    "base.safetensors"  # transformers would ignore the index if model.safetensors existed
)


def build_chunked(
    base_manifest: Path, folder: Path, checkpoint_id: str, keys: dict[str, Any], seed: int
) -> Manifest:
    """Write the chunked checkpoint into `folder`, its manifest last, and return the manifest.

    `keys` are the keys that its config.json has in addition to the base model's.
    """
    base = read_manifest(base_manifest)
    source = base_manifest.parent
    require_unchanged(source, base)
    config, architecture = build_chunked_config(source, base.repository, keys)
    model = _make_empty_model(config, architecture, seed)
    weights = model.state_dict().items()
    new = {name: weight for name, weight in weights if "wrapped_chunk_layers" in name}
    with open_atomic_dir(folder) as temporary:
        files = _link_weights(base, source, temporary, bool(new))
        write_json(temporary / _CONFIG, json.loads(model.config.to_json_string(use_diff=False)))
        if new:
            _write_new_weights(temporary, source, new)
        files += hash_files(temporary, [_CONFIG, *([NEW_WEIGHTS, _WEIGHTS_INDEX] if new else [])])
        return write_manifest(
            temporary,
            sorted(files, key=lambda file: file.path),
            kind="model",
            source=base.source,
            repository=checkpoint_id,
            revision=base.commit,
            licence=base.licence,
            parameters=model.num_parameters(),
            architecture=type(model).__name__,
        )


def build_chunked_config(folder: Path, name: str, keys: dict[str, Any]):
    """Build the chunked config from the base model's config.json and `keys`; return it with its architecture."""
    from workflow_scripts.chunked.architectures import ARCHITECTURES

    config = read_json_object(folder / _CONFIG)
    model_type = config.pop("model_type", None)
    architecture = ARCHITECTURES.get(model_type)
    if architecture is None:
        raise UserError(
            f"{name} is of the type {model_type!r}; only {', '.join(ARCHITECTURES)} can be cut into"
            " chunks."
        )
    config["architectures"] = [architecture.causal_lm.__name__]
    return architecture.config(**config, **keys), architecture


def _make_empty_model(config, architecture, seed: int):
    """Build the chunked model on the meta device; only its new modules get memory and are initialised."""
    import torch

    from workflow_scripts.chunked.wrapper import WrappedChunkLayers

    with torch.device("meta"):
        model = architecture.causal_lm(config)
    if config.plan().chunks:
        torch.manual_seed(seed)
        wrapper = WrappedChunkLayers(config, config.plan())
        for module in wrapper.modules():
            model._init_weights(module)
        model.model.wrapped_chunk_layers = wrapper.to(config.dtype or torch.float32)
    return model


def _link_weights(base: Manifest, source: Path, target: Path, has_new: bool) -> list[HubFile]:
    """Link the base model's files, except those that are rewritten, and list them under their new names."""
    files = []
    for file in base.files:
        if file.path == _CONFIG or (file.path == _WEIGHTS_INDEX and has_new):
            continue
        path = _BASE_WEIGHTS if file.path == _WEIGHTS and has_new else file.path
        link_or_copy(source / file.path, target / path)
        files.append(file.model_copy(update={"path": path}))
    return files


def _write_new_weights(target: Path, source: Path, new: dict) -> None:
    """Write the new weights, and an index of them and the base model's weights."""
    from huggingface_hub import get_local_safetensors_metadata
    from safetensors.torch import save_file

    save_file(new, target / NEW_WEIGHTS, metadata={"format": "pt"})
    base = source if (source / _WEIGHTS_INDEX).is_file() else target / _BASE_WEIGHTS
    weight_map = get_local_safetensors_metadata(base).weight_map
    weight_map |= dict.fromkeys(new, NEW_WEIGHTS)
    size = sum((target / name).stat().st_size for name in set(weight_map.values()))
    write_json(
        target / _WEIGHTS_INDEX, {"metadata": {"total_size": size}, "weight_map": weight_map}
    )


@validate_call
def main(model: Path, checkpoint: str, entry: Checkpoint, seed: int, manifest: Path) -> None:
    """Build a checkpoint; `checkpoint` is its id in the form for paths, `entry` its entry of chunking.checkpoints."""
    build_chunked(model, manifest.parent, str(CheckpointId.parse(checkpoint)), entry.keys, seed)


if "snakemake" in globals():
    run_job(main, snakemake)
