"""Prepare and load models that run on a server: only their tokenizer and configuration files are used."""

from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any

from workflow_scripts.bridge.job import run_job
from workflow_scripts.core.files import hash_json
from workflow_scripts.hub.link_files import link_or_copy
from workflow_scripts.hub.manifest import write_manifest
from workflow_scripts.hub.metadata import read_metadata
from workflow_scripts.settings.served import Served

# Arguments of from_pretrained.
SAFE_LOADING = {"local_files_only": True, "trust_remote_code": False}
AS_SERVED = "as served"  # stands for dtype and attention, which the API does not report


@dataclass(frozen=True)
class ServedModel:
    """A model behind an API: its server, and the attributes that the harness reads from a model in memory."""

    server: Served
    config: Any
    generation_config: Any
    device: Any


def main(source: Path, manifest: Path, org: str, name: str, served: dict[str, Any]) -> None:
    """Write the manifest of a served model into the folder of its tokenizer and configuration."""
    folder, model = manifest.parent, f"{org}/{name}"
    server = Served.model_validate(served | {"name": served["name"] or model})
    metadata = read_metadata(source)
    rmtree(folder, ignore_errors=True)
    for file in metadata.files:
        if not file.path.endswith(".safetensors"):
            link_or_copy(source.parent / file.path, folder / file.path)
    write_manifest(
        folder,
        **metadata.model_dump(include={"kind", "licence", "parameters", "architecture"}),
        source="served",
        repository=model,
        revision=None,
        commit=hash_json([metadata.commit, server.model_dump()])[:40],
        served=server,
    )


def load_served(folder: Path, served: Served) -> ServedModel:
    """Load the configurations of a served model, which replace the model in memory."""
    import torch
    from transformers import AutoConfig, GenerationConfig

    config = AutoConfig.from_pretrained(folder, **SAFE_LOADING)
    # The server counts two more tokens: the last one, whose logits are not used here, and a generated one.
    if hasattr(config, "max_position_embeddings"):
        config.max_position_embeddings -= 2
    has_config = (folder / "generation_config.json").is_file()
    generation = GenerationConfig.from_pretrained(folder) if has_config else GenerationConfig()
    return ServedModel(served, config, generation, torch.device("cpu"))


if "snakemake" in globals():
    run_job(main, snakemake)
