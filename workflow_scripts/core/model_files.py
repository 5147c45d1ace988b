"""Which files of a model are taken, from the hub or a folder, and what their headers tell."""

import json
import math
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError

# What may be taken of a model is listed, not what may not: code and pickles stay out whatever they are called.
ABOUT = r"README\.md|(LICENSE|NOTICE)(\.md|\.txt)?"
_MODEL_FILES = re.compile(
    rf"{ABOUT}|[^/]+\.(safetensors|json|txt|model|jinja)|additional_chat_templates/[^/]+\.jinja"
)
_LOADED_WEIGHTS = re.compile(r"(adapter_)?model(-\d+-of-\d+)?\.safetensors")
_INDEX_OF_PICKLES = re.compile(r".*(?<!\.safetensors)\.index\.json")
_MANIFEST = "manifest.json"  # the name of our own file
_MAX_HEADER = 100_000_000  # bytes, as safetensors itself allows


def select_model_files(paths: Iterable[str]) -> set[str]:
    """Choose those of a model's files that are taken: weights as transformers loads them, and small files."""
    plain = {path for path in paths if _MODEL_FILES.fullmatch(path) and is_plain(path)}
    # Some repositories hold the weights twice, as consolidated.safetensors or in another precision
    # too; transformers loads these.
    weights = {path for path in plain if path.endswith(".safetensors")}
    loaded = {path for path in weights if _LOADED_WEIGHTS.fullmatch(path)}
    unused = weights - loaded if loaded else set()
    return {path for path in plain - unused if not _INDEX_OF_PICKLES.fullmatch(path)}


def is_plain(path: str) -> bool:
    """Tell whether a path is neither hidden nor of the name of our own file."""
    return not re.search(rf"(^|/)(\.|{re.escape(_MANIFEST)}$)", path)


def find_missing_files(files: Collection[str], remedy: str) -> str | None:
    """Name what is missing for a model; `remedy` says how one comes by the right weights."""
    if not any(path.endswith(".safetensors") for path in files):
        return f"holds no safetensors weights, and pickled ones (.bin, .pt) are never loaded; {remedy}."
    if "config.json" not in files:
        return "holds no config.json, so it is not a model that transformers can load by itself."
    return None


def count_header_parameters(weights: Path) -> int:
    """Count the parameters in the header of a safetensors file; the weights are not read."""
    try:
        with weights.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > _MAX_HEADER:
                raise ValueError("its header is too long")
            header = json.loads(file.read(length))
        return sum(
            math.prod(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__"
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{weights} is not a safetensors file ({error}).") from None


def read_json_object(path: Path) -> dict[str, Any]:
    """Read the object in a small JSON file; nothing where there is none."""
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read as JSON ({error}).") from None
    if not isinstance(value, dict):
        raise UserError(f"{path} holds no JSON object.")
    return value
