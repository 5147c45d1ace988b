"""The checkpoint that a training leaves: a folder for AutoModelForCausalLM, with a manifest.

Adapters are merged, or lie beside the base's weights. What the base has besides weights (tokenizer,
chat template, generation settings) is linked.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from workflow_scripts.core.files import atomic_dir, write_text
from workflow_scripts.hub.link_files import link_or_copy
from workflow_scripts.hub.manifest import Manifest, read_manifest, seal
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.trainable_parameters import select_trainable, set_parameters

_ADAPTER = "adapter_config.json"
# Files of a base that are its weights, or say how to load them, or what it is.
_REPLACED = (
    ".safetensors",
    ".safetensors.index.json",
    "/config.json",
    f"/{_ADAPTER}",
    "/README.md",
)


def save_checkpoint(
    load: Callable[[str], Any],
    parameters: dict[str, torch.Tensor],
    base_manifest: Path,
    folder: Path,
    *,
    id: str,
    keys: TrainingKeys,
) -> Manifest:
    """Write the trained model, whole or not at all, its manifest last."""
    base, source = read_manifest(base_manifest), base_manifest.parent
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    dtype = config.get("dtype") or config.get("torch_dtype") or "float32"
    with atomic_dir(folder) as temporary:
        # In the format that it is stored in: what was trained is rounded to it once.
        model = select_trainable(load(dtype), keys, exact=False)
        set_parameters(model, parameters)
        _save(model, temporary, keys.method == "lora" and keys.lora_output == "adapter")
        for file in base.files:
            if not f"/{file.path}".endswith(_REPLACED) and not (temporary / file.path).exists():
                link_or_copy(source / file.path, temporary / file.path)
        return seal(
            temporary,
            kind="model",
            source=base.source,
            repository=id,
            revision=base.commit,
            licence=base.licence,
            parameters=sum(p.numel() for p in model.parameters()),
            architecture=base.architecture,
        )


def _save(model, folder: Path, as_adapter: bool) -> None:
    if as_adapter:
        model.save_pretrained(folder)
        # The base lies in this very folder, where transformers finds it by its config.json, and not where
        # it lay when it was loaded.
        config = json.loads((folder / _ADAPTER).read_text(encoding="utf-8"))
        config["base_model_name_or_path"] = "."
        write_text(folder / _ADAPTER, json.dumps(config, indent=1, sort_keys=True) + "\n")
        (folder / "README.md").unlink(missing_ok=True)  # peft's own, an empty form
        model = model.unload()
    elif hasattr(model, "merge_and_unload"):
        model = model.merge_and_unload()
    model.save_pretrained(folder)
