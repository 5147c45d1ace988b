"""Select the files of a model to copy from the hub or a folder, and read their headers."""

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import read_json

# An allowlist, so code and pickles are excluded whatever their name.
DOCUMENTATION = r"README\.md|(LICENSE|NOTICE)(\.md|\.txt)?"
_MODEL_FILES = re.compile(
    rf"{DOCUMENTATION}|[^/]+\.(safetensors|json|txt|model|jinja)|additional_chat_templates/[^/]+\.jinja"
)
_LOADED_WEIGHTS = re.compile(r"(adapter_)?model(-\d+-of-\d+)?\.safetensors")
_PICKLE_INDEX = re.compile(r".*(?<!\.safetensors)\.index\.json")
MANIFEST = "manifest.json"  # written by this package


def select_model_files(paths: Iterable[str]) -> set[str]:
    """Return the paths of a model's files to copy: the weights that transformers loads, and small files."""
    allowed = {path for path in paths if _MODEL_FILES.fullmatch(path) and is_content_file(path)}
    # Some repositories have the weights twice, also as consolidated.safetensors or in another precision;
    # transformers loads only the names of _LOADED_WEIGHTS.
    weights = {path for path in allowed if path.endswith(".safetensors")}
    loaded = {path for path in weights if _LOADED_WEIGHTS.fullmatch(path)}
    unused = weights - loaded if loaded else set()
    return {path for path in allowed - unused if not _PICKLE_INDEX.fullmatch(path)}


def is_content_file(path: str) -> bool:
    """Return whether a path is neither hidden nor named like our manifest."""
    return not re.search(rf"(^|/)(\.|{re.escape(MANIFEST)}$)", path)


def describe_missing_files(files: Collection[str], remedy: str) -> str | None:
    """Describe the files that a model lacks, or return None; `remedy` says how to get safetensors weights."""
    if not any(path.endswith(".safetensors") for path in files):
        return f"holds no safetensors weights, and pickled ones (.bin, .pt) are never loaded; {remedy}."
    if "config.json" not in files:
        return "holds no config.json, so it is not a model that transformers can load by itself."
    return None


def count_header_parameters(weights: Path) -> int:
    """Count the parameters from the header of a safetensors file, without reading the weights."""
    from huggingface_hub import parse_local_safetensors_file_metadata
    from huggingface_hub.errors import SafetensorsParsingError

    try:
        counts = parse_local_safetensors_file_metadata(weights).parameter_count
    except (OSError, SafetensorsParsingError) as error:
        raise UserError(f"{weights} is not a safetensors file ({error}).") from None
    return sum(counts.values())


def read_json_object(path: Path) -> dict[str, Any]:
    """Read the object in a JSON file; return an empty dict if the file does not exist."""
    value = read_json(path) if path.is_file() else {}
    if not isinstance(value, dict):
        raise UserError(f"{path} holds no JSON object.")
    return value
