"""Describe a model by its small files: the files to copy from a local folder, and the row of the models table."""

import re
from pathlib import Path

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import LOCAL, build_local_name
from workflow_scripts.core.model_files import (
    count_header_parameters,
    describe_missing_files,
    read_json_object,
    select_model_files,
)
from workflow_scripts.settings.tables import ModelRow

_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
# Words in the name of a model that was tuned for chat.
_CHAT_WORDS = {"instruct", "chat", "it", "sft", "dpo", "orpo", "kto", "rlhf", "ppo", "assistant"}


def list_model_files(folder: Path) -> list[str]:
    """List the files to copy from a folder, sorted; raise UserError if the folder has no model."""
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}.")
    paths = [*folder.glob("*"), *folder.glob("additional_chat_templates/*")]
    files = select_model_files(
        path.relative_to(folder).as_posix() for path in paths if path.is_file()
    )
    if lacking := describe_missing_files(files, "save it as safetensors"):
        raise UserError(f"the folder {folder} {lacking}")
    if not {"tokenizer.json", "tokenizer_config.json", "tokenizer.model"} & files:
        raise UserError(
            f"the folder {folder} holds no tokenizer; save it beside the model, with"
            " tokenizer.save_pretrained."
        )
    return sorted(files)


def read_folder_row(path: str, families: set[str]) -> ModelRow:
    """Read the row of a model in a local folder; raise UserError if the folder has no model."""
    folder = Path(path)
    weights = [file for file in list_model_files(folder) if file.endswith(".safetensors")]
    cells = read_model_cells(folder, build_local_name(path), families, is_derived=True)
    parameters = sum(count_header_parameters(folder / file) for file in weights)
    others = {"source": LOCAL, "parameters": parameters, "licence": "not stated", "gated": False}
    return ModelRow.model_validate(cells | others)


def read_model_cells(
    folder: Path, name: str, families: set[str], is_derived: bool
) -> dict[str, str]:
    """Read the cells of a model's row from its config and tokenizer; `is_derived` means made from another model.

    `instruct` needs more than a chat template, because many base models have one too. The family comes from the words
    of the name, or for a local folder, which may have any name, from its `model_type`.
    """
    config = read_json_object(folder / "config.json")
    decoder = config.get("text_config") or config
    layers = next((decoder[key] for key in _LAYERS if key in decoder), None)
    if layers is None:
        raise UserError(
            f"config.json of {name} has no number of layers ({_LAYERS[0]}); add a row of the table"
            " of models by hand."
        )
    is_local = name.startswith(f"{LOCAL}/")
    words = re.split("[-_]", name.split("/")[-1])
    name_words = {word.lower() for word in words}
    is_tuned = is_derived or not _CHAT_WORDS.isdisjoint(name_words)
    has_template = (
        bool(read_json_object(folder / "tokenizer_config.json").get("chat_template"))
        or (folder / "chat_template.jinja").is_file()
    )
    is_instruct = has_template and is_tuned and "base" not in name_words
    family_words = [str(config.get("model_type") or "unknown")] if is_local else words
    return {
        "model": name,
        "family": _match_family(family_words, families),
        "layers": str(layers),
        "kind": "instruct" if is_instruct else "base",
    }


def _match_family(words: list[str], families: set[str]) -> str:
    """Return the longest family that a word begins with, or the first word."""
    longest_first = sorted(sorted(families), key=len, reverse=True)
    for word in words:
        for family in longest_first:
            if word.lower().startswith(family.lower().replace("-", "")):
                return family
    return words[0]
