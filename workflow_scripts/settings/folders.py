"""Read models in local folders: the files to copy and the row of the models table."""

from collections.abc import Iterable
from pathlib import Path

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import build_local_name
from workflow_scripts.core.model_files import (
    count_header_parameters,
    find_missing_files,
    read_json_object,
    select_model_files,
)
from workflow_scripts.settings.model_facts import ModelFiles, has_chat_template, make_model_cells
from workflow_scripts.settings.tables import ModelRow


def list_model_files(folder: Path) -> list[str]:
    """List the files to copy from a folder, sorted; raise UserError if the folder has no model."""
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}.")
    paths = [*folder.glob("*"), *folder.glob("additional_chat_templates/*")]
    files = select_model_files(
        path.relative_to(folder).as_posix() for path in paths if path.is_file()
    )
    if lacking := find_missing_files(files, "save it as safetensors"):
        raise UserError(f"the folder {folder} {lacking}")
    if not {"tokenizer.json", "tokenizer_config.json", "tokenizer.model"} & files:
        raise UserError(
            f"the folder {folder} holds no tokenizer; save it beside the model, with"
            " tokenizer.save_pretrained."
        )
    return sorted(files)


def read_folder_row(path: str, families: Iterable[str]) -> ModelRow:
    folder = Path(path)
    files = list_model_files(folder)
    facts = ModelFiles(
        config=read_json_object(folder / "config.json"),
        has_chat_template=has_chat_template(
            files, read_json_object(folder / "tokenizer_config.json")
        ),
        parameters=sum(
            count_header_parameters(folder / file)
            for file in files
            if file.endswith(".safetensors")
        ),
        licence=None,
        made_from=True,
    )
    return ModelRow.model_validate(
        make_model_cells(build_local_name(path), "local", facts, families)
    )


def list_file_stats(path: str) -> dict[str, list[int]]:
    """Return size and modification time of each file to copy, by path, to detect changes."""
    stats = {file: Path(path, file).stat() for file in list_model_files(Path(path))}
    return {str(Path(path, file)): [stat.st_size, stat.st_mtime_ns] for file, stat in stats.items()}
