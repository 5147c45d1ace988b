"""Write the trained checkpoint: a folder for AutoModelForCausalLM, with a manifest.

Adapters are merged. The other files of the base (tokenizer, chat template, generation settings) are linked.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from workflow_scripts.core.files import open_atomic_dir, read_json
from workflow_scripts.hub.link_files import link_or_copy
from workflow_scripts.hub.manifest import Manifest, read_manifest, write_manifest
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.trainable_parameters import select_trainable, set_parameters

# Files of a base that describe how to load its weights; like the weights, they are not linked.
_REPLACED = {"config.json", "adapter_config.json", "README.md"}


def save_checkpoint(
    load: Callable[[str], Any],
    parameters: dict[str, torch.Tensor],
    base_manifest: Path,
    folder: Path,
    *,
    id: str,
    keys: TrainingKeys,
) -> Manifest:
    """Write the model with the trained `parameters` atomically, with the manifest last.

    `load` is called with the dtype of the base's files, and returns the base model.
    """
    base, source = read_manifest(base_manifest), base_manifest.parent
    config = read_json(source / "config.json")
    dtype = config.get("dtype") or config.get("torch_dtype") or "float32"
    with open_atomic_dir(folder) as temporary:
        # Load in the storage dtype, so that trained parameters are rounded only once.
        model = select_trainable(load(dtype), keys, upcast=False)
        set_parameters(model, parameters)
        if keys.method == "lora":
            model = model.merge_and_unload()
        model.save_pretrained(temporary)
        for file in base.files:
            path = Path(file.path)
            is_replaced = ".safetensors" in path.name or path.name in _REPLACED
            if not is_replaced and not (temporary / path).exists():
                link_or_copy(source / path, temporary / path)
        return write_manifest(
            temporary,
            kind="model",
            source=base.source,
            repository=id,
            revision=base.commit,
            licence=base.licence,
            parameters=sum(p.numel() for p in model.parameters()),
            architecture=base.architecture,
        )
