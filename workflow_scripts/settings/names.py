"""Names in the config that must stand for something: a model, a task, a run, a file.

A section annotates its fields with these types; what is known reaches them as the validation
context. Without a context, as when the schema is generated, the names are taken as they are.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import normpath
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo

from workflow_scripts.core.errors import UserError, did_you_mean
from workflow_scripts.core.ids import (
    BEHIND_A_NAME,
    LOCAL,
    CheckpointId,
    hub_name_problem,
    name_of_folder,
    names_a_folder,
)
from workflow_scripts.settings.folders import row_of_folder
from workflow_scripts.settings.found import Found
from workflow_scripts.settings.section import contradiction, unlike
from workflow_scripts.settings.sentences import hint, listed
from workflow_scripts.settings.tables import DeviceRow, ModelRow, TaskRow


@dataclass(frozen=True)
class Known:
    """What the names may refer to; None for what could not be read and is complained about already."""

    workflow_folder: Path
    source: str | None = None
    models: dict[str, ModelRow] | None = (
        None  # and those of no table that the config names, once found
    )
    tasks: dict[str, TaskRow] | None = None  # likewise
    found_models: Found[ModelRow] | None = None
    found_tasks: Found[TaskRow] | None = None
    folders: dict[str, str] = field(default_factory=dict)  # by name, of the models that are folders
    prompt_runs: Mapping[str, Path] | None = None
    devices: Mapping[str, DeviceRow] | None = None


def find_file(path: str, workflow_folder: Path) -> Path | None:
    """A file the config names: in the working directory, or else beside the Snakefile."""
    return next(filter(Path.is_file, (Path(path), workflow_folder / path)), None)


def find_folder(path: str, workflow_folder: Path) -> Path | None:
    """A folder, looked up in the same way."""
    return next(filter(Path.is_dir, (Path(path), workflow_folder / path)), None)


def known_in(table: str, what: str) -> AfterValidator:
    """Names that stand in a table of `Known`, where that could be read."""

    def check(name: str, info: ValidationInfo) -> str:
        names = getattr(info.context, table, None)
        if names is not None and name not in names:
            raise unlike(f"{what}{hint(name, names)}")
        return name

    return AfterValidator(check)


def _known_model(name: str, info: ValidationInfo) -> str:
    known: Known | None = info.context
    if known is None or known.models is None:
        return name
    if names_a_folder(name):
        return _folder_as_model(name, known, known.models)
    if problem := hub_name_problem(name):
        raise unlike(f"the name of a model, or of its folder (./{name}), but {problem}")
    if name.startswith(f"{LOCAL}/") and name not in known.folders:
        raise unlike(
            f"the folder itself, as in './my-checkpoint'; a name under {LOCAL}/ is made of it"
        )
    if name not in known.models:
        known.models[name] = _found_model(name, known, known.models)
    source = known.models[name].source
    if known.source not in (None, source) and source != LOCAL:
        raise unlike(
            f"a model of the source {known.source!r}, which the key source names; this one's is {source!r}"
        )
    return name


def _found_model(name: str, known: Known, models: Mapping[str, ModelRow]) -> ModelRow:
    """Of a model of the hub that the table lacks."""
    on_the_hub = known.source == "huggingface" and not name.startswith("miniature/")
    row = _found(name, known.found_models if on_the_hub else None, models)
    if row is None:
        raise unlike(f"a model of the models table{hint(name, models)}")
    return row


def _found(name: str, found: Found[Any] | None, known: Mapping[str, Any]) -> Any:
    try:
        return found.row(name) if found else None
    except UserError as error:
        raise contradiction(f"{error}{did_you_mean(name, known)}") from None


def _folder_as_model(path: str, known: Known, models: dict[str, ModelRow]) -> str:
    """The name that stands for it from here on."""
    plain, name = normpath(path), name_of_folder(path)
    if known.folders.setdefault(name, plain) != plain:
        raise unlike(
            f"a folder of another name, since {known.folders[name]!r} is called {name} here already"
        )
    if name not in models:
        try:
            models[name] = row_of_folder(path, {row.family for row in models.values()})
        except UserError as error:
            raise contradiction(f"{path!r} is no model: {error}") from None
    return name


def _known_checkpoint(name: str, info: ValidationInfo) -> str:
    """A model of the table, or a variant of one; which variants there are is checked over sections."""
    base = re.split("[@+]", name)[0]
    model = _known_model(base, info)
    try:
        return str(CheckpointId.parse(model + name.removeprefix(base)))
    except UserError:
        raise unlike(f"the name of a model, and behind it perhaps {BEHIND_A_NAME}") from None


def _known_task(name: str, info: ValidationInfo) -> str:
    known: Known | None = info.context
    if known is None or known.tasks is None or name in known.tasks:
        return name
    row = _found(name, known.found_tasks, known.tasks)
    if row is None:
        raise unlike(f"a task of the tasks table{hint(name, known.tasks)}")
    known.tasks[name] = row
    return name


def _lm_eval_task(name: str, info: ValidationInfo) -> str:
    known: Known | None = info.context
    if known is None or known.tasks is None:
        return name
    if (harness := known.tasks[name].harness) != "lm_eval":
        raise unlike(f"a task of the harness lm_eval; this one is run by {harness}")
    return name


def _folder(path: str, info: ValidationInfo) -> str:
    known: Known | None = info.context
    if known is not None and find_folder(path, known.workflow_folder) is None:
        raise unlike("a folder, but there is none in the working directory or beside the Snakefile")
    return path


def plain_path(path: str) -> str:
    """One that can stand in a rule: Snakemake takes braces for wildcards, and a log ends at a new line."""
    if any(character in "{}" or ord(character) < 32 for character in path):
        raise unlike("a path without braces, new lines or other control characters")
    return path


def _file_ending_in(kind: str, *endings: str):
    def check(path: str, info: ValidationInfo) -> str:
        known: Known | None = info.context
        plain_path(path)
        if known is None:
            return path
        if Path(path).suffix not in endings:
            raise unlike(f"the path of a {kind}, with a name that ends in {listed(endings, 'or')}")
        found = find_file(path, known.workflow_folder)
        if found is None:
            raise unlike(
                "a file, but there is none in the working directory or beside the Snakefile"
            )
        return str(found)

    return AfterValidator(check)


ModelName = Annotated[str, AfterValidator(_known_model), Field(title="the name of a model")]
CheckpointName = Annotated[
    str, AfterValidator(_known_checkpoint), Field(title="the name of a model or a checkpoint")
]
TaskName = Annotated[str, AfterValidator(_known_task), Field(title="the name of a task")]
LmEvalTaskName = Annotated[TaskName, AfterValidator(_lm_eval_task)]
PromptRunName = Annotated[
    str,
    known_in("prompt_runs", "the name of a file in prompts.folder, without .yaml"),
    Field(title="the name of a prompt run"),
]
Folder = Annotated[str, AfterValidator(_folder), Field(min_length=1)]
PlainPath = Annotated[str, AfterValidator(plain_path), Field(min_length=1)]
CsvFile = Annotated[str, _file_ending_in("CSV file", ".csv"), Field(title="the path of a CSV file")]
TextFile = Annotated[
    str, _file_ending_in("text file", ".txt"), Field(title="the path of a text file")
]
DataFile = Annotated[
    str,
    _file_ending_in("data file", ".txt", ".jsonl", ".parquet"),
    Field(title="the path of a data file"),
]
