"""Models that a server runs: of their files only the tokenizer and the configuration are used."""

from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any

from workflow_scripts.bridge.job import InputFiles, OutputFiles, run_job
from workflow_scripts.core.files import sha256_json
from workflow_scripts.core.model_files import select_model_files
from workflow_scripts.hub.link_files import link_or_copy
from workflow_scripts.hub.manifest import MANIFEST, Manifest, ServedFacts, read_manifest, seal
from workflow_scripts.hub.metadata import read_metadata
from workflow_scripts.settings.served import ServedRequest

AS_SERVED = "as served"  # dtype and attention, which the API does not name


@dataclass(frozen=True)
class ServedModel:
    """Stands in the place of a model in memory."""

    facts: ServedFacts
    config: Any
    generation_config: Any
    device: Any


def describe_served_model(
    inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles
) -> None:
    """Write the manifest of a served model beside its tokenizer and configuration."""
    (source,), folder = inputs["source"], outputs["manifest"].parent
    served_request = ServedRequest.of(request)
    name = served_request.served.name or served_request.model
    served = ServedFacts(**served_request.served.model_dump() | {"name": name})
    described = read_manifest(source) if source.name == MANIFEST else read_metadata(source)
    rmtree(folder, ignore_errors=True)
    names = [path.relative_to(source.parent).as_posix() for path in source.parent.rglob("*")]
    for name in select_model_files(names):
        if not name.endswith(".safetensors") and name != source.name:
            link_or_copy(source.parent / name, folder / name)
    seal(
        folder,
        kind="model",
        source="served",
        repository=served_request.model,
        revision=None,
        commit=sha256_json([described.commit, served.model_dump()])[:40],
        licence=described.licence,
        parameters=getattr(described, "parameters", None),
        architecture=getattr(described, "architecture", None),
        served=served,
    )


def load_served(folder: Path, manifest: Manifest) -> tuple[ServedModel, Any]:
    """Load what stands in the place of the model, and its tokenizer."""
    import torch
    from transformers import AutoConfig, AutoTokenizer, GenerationConfig

    assert manifest.served is not None
    offline = {"local_files_only": True, "trust_remote_code": False}
    tokenizer = AutoTokenizer.from_pretrained(folder, **offline)
    config = AutoConfig.from_pretrained(folder, **offline)
    # A server counts the last token, which we do not read, and one that it generates.
    if hasattr(config, "max_position_embeddings"):
        config.max_position_embeddings -= 2
    has_own = (folder / "generation_config.json").is_file()
    generation = GenerationConfig.from_pretrained(folder) if has_own else GenerationConfig()
    return ServedModel(manifest.served, config, generation, torch.device("cpu")), tokenizer


if "snakemake" in globals():
    run_job(describe_served_model, snakemake)
