"""Build the row of a model in the models table from its config, tokenizer config and card."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from workflow_scripts.core.errors import UserError

_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
# Words in the name of a model that was tuned for chat.
_TUNED = {"instruct", "chat", "it", "sft", "dpo", "orpo", "kto", "rlhf", "ppo", "assistant"}


@dataclass(frozen=True)
class ModelFiles:
    """The facts of a repository or folder that the row needs, read without the weights."""

    config: dict[str, Any]  # config.json
    has_chat_template: bool
    parameters: int  # from the headers of the safetensors files
    licence: str | None
    is_gated: bool = False
    made_from: bool = False  # whether the model card names a base model


def has_chat_template(files: Iterable[str], tokenizer_config: dict[str, Any]) -> bool:
    """Return whether a tokenizer has a chat template, in its config or in chat_template.jinja."""
    return bool(tokenizer_config.get("chat_template")) or "chat_template.jinja" in files


def make_model_cells(
    name: str, source: str, files: ModelFiles, families: Iterable[str]
) -> dict[str, str]:
    """Build the cells of a model's row; its family is the one of `families` that is a prefix of a word of its name.

    `instruct` needs more than a chat template, because many base models have one too. The family of a local folder
    comes from its `model_type`, because a folder may have any name.
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
