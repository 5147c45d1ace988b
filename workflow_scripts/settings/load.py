"""From the merged config to settings that hold together, or to one error that names every problem."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import TUNED, UNCHANGED, CheckpointId
from workflow_scripts.settings.between_sections import (
    measures_problems,
    prompt_problems,
    unmade_checkpoints,
)
from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.config import Config
from workflow_scripts.settings.explain import explain_problems
from workflow_scripts.settings.flags import Flag, read_flags
from workflow_scripts.settings.found import Found, LookUp
from workflow_scripts.settings.grids import GridFile, read_grid_files
from workflow_scripts.settings.names import Known, find_file, find_folder
from workflow_scripts.settings.prompts.files import find_runs, read_runs
from workflow_scripts.settings.prompts.section import FOLDER, Prompts
from workflow_scripts.settings.prompts.spec import PromptRun
from workflow_scripts.settings.raw import raw_problems
from workflow_scripts.settings.requests import Request, read_requests
from workflow_scripts.settings.section import Section
from workflow_scripts.settings.sentences import sentences, shown
from workflow_scripts.settings.served import served_models, served_problems
from workflow_scripts.settings.tables import (
    DeviceRow,
    ModelRow,
    Tables,
    TaskRow,
    WorkRow,
    read_table,
)
from workflow_scripts.settings.training import Recipe

_TABLES = {"models": ModelRow, "tasks": TaskRow, "work": WorkRow, "devices": DeviceRow}


class Settings(Config):
    """The config, checked, together with the rows of its tables."""

    models: dict[str, ModelRow]
    """All rows of the models table by name, and those of other models that are named."""
    tasks: dict[str, TaskRow]
    """All rows of the tasks table by name, likewise."""
    folders: dict[str, str]
    """By name, the folders of local models."""
    work: dict[str, WorkRow]
    """All rows of the work table by task."""
    devices: dict[str, DeviceRow]
    """All rows of the devices table by name."""
    prompt_runs: dict[str, PromptRun]
    """The prompt runs to make, by name."""
    requests: dict[str, Request] = Field({})
    """Submitted models, by their files' names."""
    refused_requests: dict[str, str] = Field({})
    """What is wrong with the other files."""
    requests_aside: dict[str, str] = Field({})
    """Why some files are of another config."""
    flags: tuple[Flag, ...] = ()
    """Rows of the leaderboard that are marked."""
    grids: dict[str, GridFile] = Field({})
    """The files in config/grids, by their names."""
    workflow_folder: str
    """Where the Snakefile lies."""
    merged: dict[str, Any]
    """The config as Snakemake merged it, unchecked."""

    def model(self, name: str) -> ModelRow:
        return self.models[name]

    def task(self, name: str) -> TaskRow:
        return self.tasks[name]

    def resource(self, name: str) -> str:
        """A file of the folder resources: in the working directory, or else beside the Snakefile."""
        path = f"resources/{name}"
        return str(find_file(path, Path(self.workflow_folder)) or path)

    def checkpoints(self) -> dict[str, Checkpoint]:
        """The chunked checkpoints by their id, for instance `Qwen/Qwen2.5-0.5B-Instruct@k2m12`."""
        return {
            str(checkpoint.id(self.models[checkpoint.model].layers)): checkpoint
            for checkpoint in self.chunking.checkpoints
        }

    def mmlu_checkpoints(self) -> list[CheckpointId]:
        """What MMLU is asked: models as they are, then each chunked variant at each stage."""
        models = [CheckpointId(name) for name in self.chunking.models]
        models += [CheckpointId.parse(name) for name in self.mmlu.models]
        return list(dict.fromkeys([*models, *self.staged_checkpoints()]))

    def staged_checkpoints(self) -> list[CheckpointId]:
        """The models that are cut, and each chunked variant untrained and after each stage.

        A variant that leaves the model unchanged, and untrained, is the model.
        """
        staged = [CheckpointId(name) for name in self.chunking.models]
        for checkpoint in self.chunking.checkpoints:
            variant = checkpoint.id(self.models[checkpoint.model].layers)
            has_chunks = bool(checkpoint.plan(self.models[checkpoint.model].layers).chunks)
            staged += [
                replace(variant, stages=stages)
                for stages in self.training.stages(has_chunks, self.source)
                if stages or variant.plan != UNCHANGED
            ]
        return staged

    def compared_checkpoints(self) -> list[CheckpointId]:
        """What the study of training holds side by side: those, and other models before and after theirs."""
        others = [
            CheckpointId(name, stages=stages)
            for name in self.training.models
            for stages in ((), (TUNED,))
        ]
        return list(dict.fromkeys([*self.staged_checkpoints(), *others]))

    def trained_checkpoints(self) -> list[CheckpointId]:
        """All that training makes: stages of chunked ones, and models that are trained as they are."""
        return [one for one in self.compared_checkpoints() if one.stages]

    @property
    def made_checkpoints(self) -> dict[str, CheckpointId]:
        """By name, all that this config makes."""
        return {str(one): one for one in (*self.staged_checkpoints(), *self.trained_checkpoints())}

    @property
    def on_gpus(self) -> bool:
        """Whether jobs have GPUs: the miniature world needs none, and would only keep one from others."""
        return self.source != "miniature" and self.compute.finds_gpus

    def stage_recipe(self, stage: str) -> tuple[str, Recipe]:
        """Its name, and the recipe."""
        kind, _, tokens = stage.partition(".")
        name = self.training.recipe_name(kind, self.source)
        assert name is not None, f"no checkpoint has the stage {stage}, which has no recipe"
        recipe = self.training.recipes[name]
        if tokens:
            recipe = self.training.limit_tokens(recipe, int(tokens.removesuffix("k")))
        return name, recipe

    def stage_attention(self, trained: CheckpointId) -> str:
        """Return the attention under which the last stage of a checkpoint is trained."""
        if trained.plan is None:
            return self.compute.attention
        _, recipe = self.stage_recipe(trained.stages[-1])
        return self.compute.chunked_attention(recipe.precision)

    def prompt_checkpoints(self) -> list[CheckpointId]:
        """The models and checkpoints that are asked in the prompt runs."""
        return [CheckpointId.parse(name) for name in self.prompts.models]

    def explained(self) -> tuple[str | None, str | None, int]:
        """Run, subject and number of the question that `explain` names."""
        run, subject, number = ([*(self.explain or "").split("/"), "", ""])[:3]
        if run and self.prompt_runs and run not in self.prompt_runs:
            raise UserError(
                f"explain is {shown(self.explain)}, which begins with the name of a task; expected a"
                " prompt run, or `snakemake explain_training`, which shows tasks."
            )
        return run or next(iter(self.prompt_runs), None), subject or None, int(number or 0)


def load_settings(
    config: dict[str, Any], workflow_folder: Path, look_up: LookUp | None = None
) -> Settings:
    """Check the config Snakemake has merged; a UserError holds one sentence per problem.

    `look_up` is asked for models and tasks that no table has.
    """
    if not isinstance(config, dict):
        raise UserError(f"The config is {shown(config)}; expected a mapping of sections.")
    complaints = raw_problems(config)
    problems = list(complaints.values())

    tables: dict[str, Any] = {}
    for name, row_type in _TABLES.items():
        path = _said(config, "tables", name, Tables)
        if not (isinstance(path, str) and path) or ("tables", name) in complaints:
            continue  # which its own check names
        try:
            tables[name] = read_table(row_type, _found(f"tables.{name}", path, workflow_folder))
        except UserError as error:
            problems += error.problems

    try:
        grids = read_grid_files(workflow_folder, tables.get("tasks"))
    except UserError as error:
        problems += error.problems

    source = config.get("source", Config.model_fields["source"].default)
    folder = _said(config, "prompts", "folder", Prompts)
    files = find_runs(folder if isinstance(folder, str) else FOLDER, workflow_folder)
    known = Known(
        workflow_folder=workflow_folder,
        source=source if source in ("miniature", "huggingface") else None,
        models=tables.get("models"),
        tasks=tables.get("tasks"),
        prompt_runs=files,
        devices=tables.get("devices"),
    )
    try:
        known = replace(known, **_found_before(config, workflow_folder, tables, look_up))
    except UserError as error:
        problems += error.problems
    try:
        checked = Config.model_validate(config, context=known)
    except ValidationError as error:
        problems += sentences(error, Config.json_schema(), complaints)
    try:
        runs = read_runs(files, _wanted_runs(config, files))
    except UserError as error:
        problems += error.problems
    problems = problems or prompt_problems(checked, tables["models"], runs)
    problems = problems or measures_problems(checked)
    problems = problems or list(served_problems(checked, tables["models"]))
    problems = problems or explain_problems(checked.explain, runs, tables["tasks"])
    if problems:
        raise UserError(problems)
    fields = {name: getattr(checked, name) for name in Config.model_fields}
    fields["served"] = served_models(checked, tables["models"])
    settings = Settings.model_construct(
        **fields,
        **tables,
        folders=known.folders,
        prompt_runs=runs,
        workflow_folder=str(workflow_folder),
        merged=config,
        grids=grids,
    )
    if problems := unmade_checkpoints(checked, settings.models, settings.made_checkpoints):
        raise UserError(problems)
    return _with_requests(settings, workflow_folder)


def _found_before(
    config: dict[str, Any], workflow_folder: Path, tables: dict[str, Any], look_up: LookUp | None
) -> dict[str, Any]:
    def table(key: str) -> Path:
        path = _said(config, "tables", key, Tables)
        path = path if isinstance(path, str) and path else Tables.model_fields[key].default
        return find_file(path, workflow_folder) or Path(path)

    def model(name: str) -> dict[str, str]:
        assert look_up is not None
        families = sorted({row.family for row in tables["models"].values()})
        return look_up.model(name, families)

    return {
        "found_models": Found(ModelRow, table("found_models"), model if look_up else None),
        "found_tasks": Found(TaskRow, table("found_tasks"), look_up.task if look_up else None),
    }


def _with_requests(settings: Settings, workflow_folder: Path) -> Settings:
    """Requests are read last: which checkpoints they may name, the rest of the config says."""
    flags = _found("suite.flags", settings.suite.flags, workflow_folder)
    folder = find_folder(settings.suite.requests, workflow_folder)
    made, local = settings.made_checkpoints, settings.suite.local_models
    requests, refused, aside = read_requests(folder, settings.source, made, local)
    return settings.model_copy(
        update={
            "requests": requests,
            "refused_requests": refused,
            "requests_aside": aside,
            "flags": read_flags(flags),
        }
    )


def _found(key: str, path: str, workflow_folder: Path) -> Path:
    if found := find_file(path, workflow_folder):
        return found
    raise UserError(
        f"{key} is {shown(path)}; expected a file, but there is none in the working directory or beside"
        " the Snakefile."
    )


def _said(config: dict[str, Any], section: str, key: str, kind: type[Section]) -> Any:
    """What the config says, before its check; None where the section is none."""
    said = config.get(section, {})
    return said.get(key, kind.model_fields[key].default) if isinstance(said, dict) else None


def _wanted_runs(config: dict[str, Any], files: dict[str, Path]) -> list[str]:
    """The runs whose files are read: none where no model is asked, all where none are named."""
    if _said(config, "prompts", "models", Prompts) == []:
        return []
    named = _said(config, "prompts", "runs", Prompts)
    if not isinstance(named, list):
        return list(files)
    return [name for name in named if isinstance(name, str) and name in files]
