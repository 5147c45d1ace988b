"""What a model's small files tell of it: the cells of its row in the table of models."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from workflow_scripts.core.errors import UserError

# How models of experts call what they have of them, and how wide one is.
_EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts")
_EXPERT_WIDTH = ("moe_intermediate_size", "intermediate_size")
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
# A word of its name says that it was tuned to follow a chat.
_TUNED = re.compile(r"instruct|chat|it|sft|dpo|orpo|kto|rlhf|ppo|assistant", re.IGNORECASE)
_NOT_STATED = "not stated"


@dataclass(frozen=True)
class ModelFiles:
    """What lies in a repository or a folder, without the weights themselves."""

    config: dict[str, Any]  # config.json
    has_chat_template: bool
    parameters: int  # counted in the headers of its weights
    licence: str | None
    is_gated: bool = False
    made_from: bool = False  # whether its card says that it was made from another model


def has_chat_template(files: Iterable[str], tokenizer_config: dict[str, Any]) -> bool:
    return bool(tokenizer_config.get("chat_template")) or "chat_template.jinja" in files


def model_cells(
    name: str, source: str, files: ModelFiles, families: Iterable[str]
) -> dict[str, str]:
    """`families` are those of the table, for a model that belongs to one of them."""
    licence = " ".join((files.licence or "").replace('"', "").split())
    return {
        "model": name,
        "source": source,
        "family": _family(name, source, files.config, families),
        "parameters": str(files.parameters),
        "active_parameters": _active_parameters(files),
        "tokens_billion": "",
        "layers": str(_layers(name, files.config)),
        "kind": "instruct" if _follows_a_chat(name, files) else "base",
        "licence": licence or _NOT_STATED,
        "gated": "yes" if files.is_gated else "no",
        "revision": "",
    }


def _active_parameters(files: ModelFiles) -> str:
    """Without the three matrices of each expert that a token is not sent to; blank where there are none."""

    def number(*keys: str, otherwise: int = 0) -> int:
        return next(
            (files.config[key] for key in keys if type(files.config.get(key)) is int), otherwise
        )

    dense, step = (
        files.config.get("mlp_only_layers") or (),
        number("decoder_sparse_step", otherwise=1),
    )
    layers = range(number("first_k_dense_replace"), number("num_hidden_layers"))
    sparse = [layer for layer in layers if (layer + 1) % max(1, step) == 0 and layer not in dense]
    expert = 3 * number("hidden_size") * number(*_EXPERT_WIDTH)
    idle = (number(*_EXPERTS) - number("num_experts_per_tok")) * len(sparse) * expert
    return str(files.parameters - idle) if 0 < idle < files.parameters else ""


def _layers(name: str, config: dict[str, Any]) -> int:
    text = config.get("text_config")
    for part in (config, text if isinstance(text, dict) else {}):
        for key in _LAYERS:
            if isinstance(part.get(key), int):
                return part[key]
    raise UserError(
        f"config.json of {name} does not say how many layers it has ({_LAYERS[0]}); add a row of the table"
        " of models by hand."
    )


def _follows_a_chat(name: str, files: ModelFiles) -> bool:
    """A chat template alone says little: many base models have one too."""
    words = _words(name)
    if not files.has_chat_template or "base" in (word.lower() for word in words):
        return False
    return files.made_from or any(_TUNED.fullmatch(word) for word in words)


def _family(name: str, source: str, config: dict[str, Any], families: Iterable[str]) -> str:
    """A family of the table where the name begins a word with it, else the first word of the name.

    A folder may have any name, so what it is built like counts.
    """
    kind = str(config.get("model_type") or "unknown")
    words = [kind] if source == "local" else _words(name)
    for word in words:
        for family in sorted(set(families), key=len, reverse=True):
            if _plain(word).startswith(_plain(family)):
                return family
    return words[0] or kind


def _words(name: str) -> list[str]:
    return re.split(r"[-_]", name.split("/")[-1])


def _plain(word: str) -> str:
    return re.sub(r"[^a-z0-9]", "", word.lower())
