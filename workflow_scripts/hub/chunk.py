"""Make a chunked checkpoint from a model of the hub, without loading the model.

The base model's weights keep their names in a chunked model, so their files are linked (copied
where the disk cannot link) and never read. What is new, adapters and aggregation, is initialised
and lies in a file of its own; config.json says the rest.
"""

import json
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import atomic_dir, write_json
from workflow_scripts.core.named import InputFiles, OutputFiles
from workflow_scripts.hub.link_files import link_or_copy
from workflow_scripts.hub.local import changed_since
from workflow_scripts.hub.manifest import (
    HubFile,
    Manifest,
    differing_sizes,
    list_files,
    read_manifest,
    seal,
)
from workflow_scripts.hub.requests import BuildRequest

NEW_WEIGHTS = "wrapped_chunk_layers.safetensors"
_CONFIG, _SINGLE, _INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
_LINKED = "base.safetensors"  # a single file beside an index would be read alone


def make_chunked(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    """From the model's manifest to that of the checkpoint, which is written after its files."""
    (model,) = inputs["model"]
    build_chunked(model, outputs["manifest"].parent, BuildRequest.of(request))


def build_chunked(base_manifest: Path, folder: Path, request: BuildRequest) -> Manifest:
    """Write the checkpoint into `folder`, its manifest last."""
    base = read_manifest(base_manifest)
    source = base_manifest.parent
    if problems := differing_sizes(source, base) or changed_since(source, base):
        raise UserError(problems)
    model = _empty_model(source, base.repository, request.checkpoint.keys, request.seed)
    _refuse_a_second_name(request, model.config)
    new = {
        name: tensor
        for name, tensor in model.state_dict().items()
        if "wrapped_chunk_layers" in name
    }

    with atomic_dir(folder) as temporary:
        kept = [_link(file, source, temporary, bool(new)) for file in base.files]
        write_json(temporary / _CONFIG, json.loads(model.config.to_json_string(use_diff=False)))
        written = [_CONFIG]
        if new:
            _write_new_weights(temporary, source, new)
            written += [NEW_WEIGHTS, _INDEX]
        files = [*filter(None, kept), *list_files(temporary, only=written)]
        return seal(
            temporary,
            tuple(sorted(files, key=lambda file: file.path)),
            kind="model",
            source=base.source,
            repository=request.id,
            revision=base.commit,
            licence=base.licence,
            parameters=model.num_parameters(),
            architecture=type(model).__name__,
        )


def _refuse_a_second_name(request: BuildRequest, config) -> None:
    """The config knows no model's width, so that only here can be seen that it is the usual one."""
    width = request.checkpoint.adapter_hidden_size
    if width == config.hidden_size and request.checkpoint.use_adapters and config.plan().chunks:
        raise UserError(
            f"adapter_hidden_size of {request.id} is {width}, which is the width of"
            f" {request.checkpoint.model} itself; expected null, which means that, so that a model has one"
            " name."
        )


def chunked_config(folder: Path, name: str, keys: dict[str, Any]):
    """The base model's configuration with the keys that chunk it, and the architecture for it."""
    from workflow_scripts.chunked.architectures import ARCHITECTURES

    base = json.loads((folder / _CONFIG).read_text(encoding="utf-8"))
    known = {architecture.base: architecture for architecture in ARCHITECTURES}
    if base.get("model_type") not in known:
        raise UserError(
            f"{name} is of the type {base.get('model_type')!r}; only {', '.join(known)} can be cut"
            " into chunks."
        )
    architecture = known[base.pop("model_type")]
    base |= {"architectures": [architecture.causal_lm.__name__]}
    return architecture.config(**base, **keys), architecture


def _empty_model(folder: Path, name: str, keys: dict[str, Any], seed: int):
    """The chunked model without memory but for its new modules, which are initialised."""
    import torch

    from workflow_scripts.chunked.wrapper import WrappedChunkLayers

    config, architecture = chunked_config(folder, name, keys)
    with torch.device("meta"):
        model = architecture.causal_lm(config)
    if config.plan().chunks:
        torch.manual_seed(seed)
        wrapper = WrappedChunkLayers(config, config.plan())
        for module in wrapper.modules():
            model._init_weights(module)
        dtype = config.dtype or torch.float32
        model.model.wrapped_chunk_layers = wrapper.to(dtype)
    return model


def _link(file: HubFile, source: Path, target: Path, beside_new: bool) -> HubFile | None:
    """The same file in the new folder, or None where it is written again."""
    if file.path == _CONFIG or (file.path == _INDEX and beside_new):
        return None
    path = _LINKED if file.path == _SINGLE and beside_new else file.path
    link_or_copy(source / file.path, target / path)
    return file.model_copy(update={"path": path})


def _write_new_weights(target: Path, source: Path, new: dict) -> None:
    from safetensors import safe_open
    from safetensors.torch import save_file

    save_file(new, target / NEW_WEIGHTS, metadata={"format": "pt"})
    index = source / _INDEX
    if index.is_file():
        where = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
    else:
        with safe_open(target / _LINKED, "pt") as tensors:
            where = dict.fromkeys(tensors.keys(), _LINKED)
    where |= dict.fromkeys(new, NEW_WEIGHTS)
    size = sum((target / name).stat().st_size for name in set(where.values()))
    write_json(target / _INDEX, {"metadata": {"total_size": size}, "weight_map": where})
