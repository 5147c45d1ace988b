"""Make the row of a model in the table of models from its small files."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from workflow_scripts.core.errors import UserError

_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
# A word of its name says that it was tuned to follow a chat.
_TUNED = {"instruct", "chat", "it", "sft", "dpo", "orpo", "kto", "rlhf", "ppo", "assistant"}


@dataclass(frozen=True)
class ModelFiles:
    """Contents of a repository or a folder, without the weights themselves."""

    config: dict[str, Any]  # config.json
    has_chat_template: bool
    parameters: int  # counted in the headers of its weights
    licence: str | None
    is_gated: bool = False
    made_from: bool = False  # whether its card says that it was made from another model


def has_chat_template(files: Iterable[str], tokenizer_config: dict[str, Any]) -> bool:
    """Return whether a tokenizer has one, in its config or in a file of its own."""
    return bool(tokenizer_config.get("chat_template")) or "chat_template.jinja" in files


def make_model_cells(
    name: str, source: str, files: ModelFiles, families: Iterable[str]
) -> dict[str, str]:
    """Make the cells of a model's row; of `families` it gets one that begins a word of its name.

    A chat template alone says little: many base models have one too. A folder may have any name, so what it is
    built like counts.
    """
    config = files.config.get("text_config") or files.config
    layers = next((config[key] for key in _LAYERS if key in config), None)
    if layers is None:
        raise UserError(
            f"config.json of {name} does not say how many layers it has ({_LAYERS[0]}); add a row of the table"
            " of models by hand."
        )
    words = re.split("[-_]", name.split("/")[-1].lower())
    is_tuned = files.made_from or not _TUNED.isdisjoint(words)
    kind = "instruct" if files.has_chat_template and is_tuned and "base" not in words else "base"
    return {
        "model": name,
        "source": source,
        "family": _choose_family(name, source, files.config, families),
        "parameters": str(files.parameters),
        "layers": str(layers),
        "kind": kind,
        "licence": " ".join((files.licence or "").replace('"', "").split()) or "not stated",
        "gated": "yes" if files.is_gated else "no",
    }


def _choose_family(name: str, source: str, config: dict[str, Any], families: Iterable[str]) -> str:
    kind = str(config.get("model_type") or "unknown")
    words = [kind] if source == "local" else re.split("[-_]", name.split("/")[-1])
    for word in words:
        for family in sorted(families, key=len, reverse=True):
            if word.lower().startswith(family.lower().replace("-", "")):
                return family
    return words[0] or kind
