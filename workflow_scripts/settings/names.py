"""Names in the config that must stand for something: a model, a task, a run, a file.

A section annotates its fields with these types; what is known reaches them as the validation
context. Without a context, as when the schema is generated, the names are taken as they are.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import BEHIND_A_NAME, CheckpointId, hub_name_problem
from workflow_scripts.settings.section import unlike
from workflow_scripts.settings.sentences import hint, listed
from workflow_scripts.settings.tables import DeviceRow, ModelRow, TaskRow


@dataclass(frozen=True)
class Known:
    """What the names may refer to; None for what could not be read and is complained about already."""

    workflow_folder: Path
    source: str | None = None
    models: Mapping[str, ModelRow] | None = None
    tasks: Mapping[str, TaskRow] | None = None
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
    if problem := hub_name_problem(name):
        raise unlike(f"the name of a model, but {problem}")
    if name not in known.models:
        raise unlike(f"a model of the models table{hint(name, known.models)}")
    source = known.models[name].source
    if known.source not in (None, source):
        raise unlike(
            f"a model of the source {known.source!r}, which the key source names; this one's is {source!r}"
        )
    return name


def _known_checkpoint(name: str, info: ValidationInfo) -> str:
    """A model of the table, or a variant of one; which variants there are is checked over sections."""
    _known_model(re.split("[@+]", name)[0], info)
    try:
        return str(CheckpointId.parse(name))
    except UserError:
        raise unlike(f"the name of a model, and behind it perhaps {BEHIND_A_NAME}") from None


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
TaskName = Annotated[
    str, known_in("tasks", "a task of the tasks table"), Field(title="the name of a task")
]
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
JsonFile = Annotated[
    str, _file_ending_in("JSON file", ".json"), Field(title="the path of a JSON file")
]
DataFile = Annotated[
    str,
    _file_ending_in("data file", ".txt", ".jsonl", ".parquet"),
    Field(title="the path of a data file"),
]
