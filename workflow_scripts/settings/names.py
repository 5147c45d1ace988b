"""Check the names of models, tasks, folders and files in the config.

Sections annotate their fields with the types of this module. The validation context is the registry of existing names;
without a registry, for example when a job reads its arguments, names are not checked.

Models and tasks that no table has are looked up once and added to a separate table, in which later processes without
network, such as cluster jobs, find them. Its rows may be corrected or deleted.
"""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from posixpath import normpath
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo

from workflow_scripts.core.clean_text import plain
from workflow_scripts.core.errors import UserError, format_suggestion
from workflow_scripts.core.files import write_text
from workflow_scripts.core.ids import LOCAL, CheckpointId, build_local_name, is_folder_path
from workflow_scripts.settings.error_messages import validate
from workflow_scripts.settings.folders import read_folder_row
from workflow_scripts.settings.tables import ModelRow, Row, TaskRow, read_table

Cells = dict[str, str]  # cells of a row by column
_SOURCES = ("miniature", "huggingface")
_NOT_ON_THE_HUB = ("miniature/", f"{LOCAL}/")
_NOWHERE = "there is none in the working directory or beside the Snakefile"


@dataclass(frozen=True)
class LookUp:
    """The functions that look up models and tasks; each raises UserError for an unknown name.

    Only the main Snakemake process has a LookUp, because jobs may have no network.
    """

    model: Callable[..., Cells]  # arguments: a hub name, and the existing families
    task: Callable[[str], Cells]  # argument: the name of an lm-eval task


@dataclass(frozen=True)
class Registry:
    """The rows that names may refer to: from the tables, from look-ups and from local folders."""

    workflow_folder: Path
    source: str
    models: dict[str, ModelRow]
    tasks: dict[str, TaskRow]
    look_up: LookUp | None = None
    folders: dict[str, str] = field(default_factory=dict)  # local folders of models by name


def find_file(path: str, workflow_folder: Path) -> Path | None:
    """Find a file of the config: in the working directory, else in the Snakefile's folder."""
    return next(filter(Path.is_file, (Path(path), workflow_folder / path)), None)


def locate_file(path: str, workflow_folder: Path) -> Path:
    """Find a file like `find_file`; if it does not exist, return the path at which to write it."""
    return find_file(path, workflow_folder) or Path(path)


def _add_row(
    name: str,
    rows: dict[str, Row],
    row_type: type[Row],
    path: Path,
    look_up: Callable[[str], Cells] | None,
) -> None:
    """Add the row of a name that `rows` lacks: from the table of earlier look-ups at `path`, else by a look-up."""
    if name in rows:
        return
    added = read_table(row_type, path) if path.is_file() else {}
    if name in added:
        rows[name] = added[name]
        return
    near = format_suggestion(name, rows)
    if look_up is None:
        raise ValueError(f"expected a name that the table has.{near}")
    try:
        cells = {column: plain(cell) for column, cell in look_up(name).items()}
        rows[name] = validate(row_type, cells)
    except (UserError, ModuleNotFoundError) as error:
        raise ValueError(f"{error}{near}") from None
    text = path.read_text(encoding="utf-8") if path.is_file() else "\t".join(row_type.model_fields)
    line = "\t".join(cells.get(column, "") for column in text.splitlines()[0].split("\t"))
    write_text(path, text.rstrip("\n") + f"\n{line}\n")
    print(f"Added to {path}, where it can be corrected: {line}", file=sys.stderr)


def _check_model(name: str, info: ValidationInfo) -> str:
    registry: Registry | None = info.context
    if registry is None:
        return name
    if is_folder_path(name):
        return _add_folder(name, registry)
    look_up = None
    is_on_hub = registry.source == "huggingface" and not name.startswith(_NOT_ON_THE_HUB)
    if registry.look_up and is_on_hub:
        families = sorted({row.family for row in registry.models.values()})
        look_up = partial(registry.look_up.model, families=families)
    path = locate_file("config/models.found.tsv", registry.workflow_folder)
    _add_row(name, registry.models, ModelRow, path, look_up)
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
        families = {row.family for row in registry.models.values()}
        registry.models[name] = read_folder_row(path, families)
    except UserError as error:
        raise ValueError(f"no model: {error}") from None
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
        look_up = registry.look_up.task if registry.look_up else None
        path = locate_file("config/tasks.found.tsv", registry.workflow_folder)
        _add_row(name, registry.tasks, TaskRow, path, look_up)
        if registry.tasks[name].harness != "lm_eval":
            raise ValueError("expected a task of the harness lm_eval")
    return name


def _find_file(path: str, info: ValidationInfo) -> str:
    if info.context is None:
        return path
    file = find_file(path, info.context.workflow_folder)
    if file is None:
        raise ValueError(f"expected a file; {_NOWHERE}")
    return str(file)


def _find_folder(path: str, info: ValidationInfo) -> str:
    """Find a folder like `_find_file`."""
    if info.context is None:
        return path
    places = (Path(path), info.context.workflow_folder / path)
    folder = next(filter(Path.is_dir, places), None)
    if folder is None:
        raise ValueError(f"expected a folder; {_NOWHERE}")
    return str(folder)


ModelName = Annotated[str, AfterValidator(_check_model)]
CheckpointName = Annotated[str, AfterValidator(_check_checkpoint)]
LmEvalTaskName = Annotated[str, AfterValidator(_check_task)]
Folder = Annotated[str, AfterValidator(_find_folder), Field(min_length=1)]
# Snakemake reads braces as wildcards, and a line end would split the path in a log.
PlainPath = Annotated[str, Field(pattern=r"^[^{}\x00-\x1f]+$")]
CsvFile = Annotated[PlainPath, Field(pattern=r"\.csv$"), AfterValidator(_find_file)]
TextFile = Annotated[PlainPath, Field(pattern=r"\.txt$"), AfterValidator(_find_file)]
DataFile = Annotated[
    PlainPath, Field(pattern=r"\.(txt|jsonl|parquet)$"), AfterValidator(_find_file)
]
