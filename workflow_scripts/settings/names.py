"""Check the names of models, tasks, folders and files in the config.

Sections annotate their fields with the types of this module. The validation context is the registry of existing names;
without a registry, as in a request or the arguments of a job, a folder gets its id and no name is looked up.

Models and tasks that no table has are looked up once and added to a separate table, in which later processes without
network, such as cluster jobs, find them. Its rows may be corrected or deleted.
"""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import normpath
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo

from workflow_scripts.core.clean_text import clean_line
from workflow_scripts.core.errors import UserError, format_suggestion
from workflow_scripts.core.files import write_text
from workflow_scripts.core.ids import (
    LOCAL,
    CheckpointId,
    build_checkpoint_name,
    build_local_name,
    is_folder_path,
)
from workflow_scripts.settings.error_messages import validate
from workflow_scripts.settings.model_folders import read_folder_row
from workflow_scripts.settings.tables import TABLES, ModelRow, TaskRow, read_table

# A function that returns the cells of a row by column, and raises UserError for an unknown name.
# Arguments: the table, "models" or "tasks"; a hub name or the name of an lm-eval task; and the existing families.
LookUp = Callable[[str, str, set[str]], dict[str, str]]
ROOT = Path(__file__).parents[2]  # the Snakefile's folder
_SOURCES = ("miniature", "huggingface")
_GENERATED_OR_LOCAL = ("miniature/", f"{LOCAL}/")


@dataclass(frozen=True)
class Registry:
    """The rows that names may refer to: from the tables, from look-ups and from local folders."""

    source: str
    models: dict[str, ModelRow]
    tasks: dict[str, TaskRow]
    look_up: LookUp | None = None
    """Given only in the main process of Snakemake, because jobs may have no network."""
    folders: dict[str, str] = field(default_factory=dict)
    """Local folders of models by name."""

    @property
    def families(self) -> set[str]:
        return {row.family for row in self.models.values()}


def locate_file(path: str, is_kind: Callable[[Path], bool] = Path.is_file) -> Path:
    """Find a file (or a folder) of the config: in the working directory, else in the Snakefile's folder.

    If there is none, return the path in the working directory, at which to write it.
    """
    return next(filter(is_kind, (Path(path), ROOT / path)), Path(path))


def read_tables(name: str) -> dict[str, Any]:
    """Read the rows of a table in config/, and those of earlier look-ups that it lacks."""
    rows = read_table(TABLES[name], locate_file(f"config/{name}.tsv"))
    looked_up = locate_file(f"config/{name}.found.tsv")
    return (read_table(TABLES[name], looked_up) if looked_up.is_file() else {}) | rows


def _require_row(name: str, table: str, registry: Registry, can_look_up: bool = True) -> None:
    """Look up a name that the table lacks, and write its row into the table of look-ups."""
    rows = getattr(registry, table)
    if name in rows:
        return
    near = format_suggestion(name, rows)
    if registry.look_up is None or not can_look_up:
        raise ValueError(f"expected a name that the table has.{near}")
    row_type = TABLES[table]
    try:
        looked_up = registry.look_up(table, name, registry.families)
        cells = {column: clean_line(cell) for column, cell in looked_up.items()}
        rows[name] = validate(row_type, cells)
    except (UserError, ModuleNotFoundError) as error:
        raise ValueError(f"{error}{near}") from None
    path = locate_file(f"config/{table}.found.tsv")
    text = path.read_text(encoding="utf-8") if path.is_file() else "\t".join(row_type.model_fields)
    line = "\t".join(cells.get(column, "") for column in text.splitlines()[0].split("\t"))
    write_text(path, text.rstrip("\n") + f"\n{line}\n")
    print(f"Added to {path}, where it can be corrected: {line}", file=sys.stderr)


def _check_model(name: str, info: ValidationInfo) -> str:
    registry: Registry | None = info.context
    if registry is None:
        return build_checkpoint_name(name)
    if is_folder_path(name):
        return _add_folder(name, registry)
    is_on_hub = registry.source == "huggingface" and not name.startswith(_GENERATED_OR_LOCAL)
    _require_row(name, "models", registry, is_on_hub)
    source = registry.models[name].source
    if registry.source in _SOURCES and source not in (registry.source, LOCAL):
        raise ValueError(f"expected a model of the source {registry.source!r}; this is {source!r}")
    return name


def _add_folder(path: str, registry: Registry) -> str:
    """Add the row of a model in a local folder, and return its id."""
    folder, name = normpath(path), build_local_name(path)
    if registry.folders.setdefault(name, folder) != folder:
        raise ValueError(f"expected another name; {registry.folders[name]!r} is {name} already")
    try:
        registry.models[name] = read_folder_row(path, registry.families)
    except UserError as error:
        raise ValueError(f"not a model folder: {error}") from None
    return name


def _check_checkpoint(name: str, info: ValidationInfo) -> str:
    """Check the model of a checkpoint id; `load` checks later that the variant exists."""
    base = re.split("[@+]", name)[0]
    try:
        return str(CheckpointId.parse(_check_model(base, info) + name.removeprefix(base)))
    except UserError as error:
        raise ValueError(str(error)) from None


def _check_task(name: str, info: ValidationInfo) -> str:
    registry: Registry | None = info.context
    if registry is not None:
        _require_row(name, "tasks", registry)
        if registry.tasks[name].harness != "lm_eval":
            raise ValueError("expected a task of the harness lm_eval")
    return name


def _build_path_validator(kind: str, is_kind: Callable[[Path], bool]) -> AfterValidator:
    """Build a validator that replaces the path of a file or folder by its location."""

    def locate_path(path: str, info: ValidationInfo) -> str:
        if info.context is None:
            return path
        located = locate_file(path, is_kind)
        if not is_kind(located):
            raise ValueError(
                f"expected a {kind}; there is none in the working directory or beside the Snakefile"
            )
        return str(located)

    return AfterValidator(locate_path)


_ExistingFile = _build_path_validator("file", Path.is_file)
ModelName = Annotated[str, AfterValidator(_check_model)]
CheckpointName = Annotated[str, AfterValidator(_check_checkpoint)]
LmEvalTaskName = Annotated[str, AfterValidator(_check_task)]
Folder = Annotated[str, _build_path_validator("folder", Path.is_dir), Field(min_length=1)]
# Snakemake reads braces as wildcards, and a line end would split the path in a log.
PlainPath = Annotated[str, Field(pattern=r"^[^{}\x00-\x1f]+$")]
CsvFile = Annotated[PlainPath, Field(pattern=r"\.csv$"), _ExistingFile]
TextFile = Annotated[PlainPath, Field(pattern=r"\.txt$"), _ExistingFile]
DataFile = Annotated[PlainPath, Field(pattern=r"\.(txt|jsonl|parquet)$"), _ExistingFile]
