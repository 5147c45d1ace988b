"""Which files of a model are taken, from the hub or a folder, and what their headers tell."""

import json
import math
import re
import struct
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
_LARGEST_HEADER = 100_000_000  # bytes, as safetensors itself allows


def files_taken(paths: Iterable[str]) -> set[str]:
    """Those of a model's files that are taken: weights as transformers loads them, and small files."""
    wanted = {path for path in paths if _MODEL_FILES.fullmatch(path) and is_plain(path)}
    # Some repositories hold the weights twice, as consolidated.safetensors or in another precision
    # too; transformers loads these.
    weights = {path for path in wanted if path.endswith(".safetensors")}
    loaded = {path for path in weights if _LOADED_WEIGHTS.fullmatch(path)}
    wanted -= weights - (loaded or weights)
    return {path for path in wanted if not _INDEX_OF_PICKLES.fullmatch(path)}


def is_plain(path: str) -> bool:
    """Neither hidden nor of the name of our own file."""
    parts = path.split("/")
    return parts[-1] != _MANIFEST and not any(part.startswith(".") for part in parts)


def what_a_model_lacks(files: Collection[str], remedy: str) -> str | None:
    """`remedy` says how one comes by the right weights."""
    if not any(path.endswith(".safetensors") for path in files):
        return (
            "holds no safetensors weights, and pickled ones (.bin, .pt) are never loaded;"
            f" {remedy}."
        )
    if "config.json" not in files:
        return "holds no config.json, so it is not a model that transformers can load by itself."
    return None


def parameters_of(weights: Path) -> int:
    """Counted in the header of a safetensors file; the weights are not read."""
    try:
        with weights.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > _LARGEST_HEADER:
                raise ValueError("its header is too long")
            header = json.loads(file.read(length))
        return sum(
            math.prod(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__"
        )
    except (OSError, ValueError, struct.error, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{weights} is not a safetensors file ({error}).") from None


def json_object(path: Path) -> dict[str, Any]:
    """What a small file says; nothing where it is not there."""
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read as JSON ({error}).") from None
    if not isinstance(found, dict):
        raise UserError(f"{path} holds no JSON object.")
    return found
