"""Find the input files of rules; every Snakemake process imports this, so it does not import pandas."""

import re
from collections.abc import Iterable
from typing import Any

from workflow_scripts.core.errors import UserError, format_suggestion
from workflow_scripts.core.ids import UNCHANGED, CheckpointId
from workflow_scripts.grid.requests import find_explained_task
from workflow_scripts.settings.mmlu import DATASET as MMLU_DATASET
from workflow_scripts.settings.plan_measures import MEASURED_TEXTS
from workflow_scripts.settings.prompts.spec import DATASETS as QUESTION_DATASETS
from workflow_scripts.settings.settings import Settings
from workflow_scripts.studies.records import list_records


def match_any(names: Iterable[str]) -> str:
    """Return a wildcard constraint that matches only these names."""
    return "|".join(map(re.escape, names)) or "(?!)"  # without names, match nothing


class Inputs:
    """The checkpoints and records of a config, and functions from a job's wildcards to its input files."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self.records = list_records(settings)
        # By their names in paths: chunked checkpoints as in the config, trained ones, and all measured ones.
        self.chunked = {
            CheckpointId.parse(name).path_name: row
            for name, row in settings.get_chunked_checkpoints().items()
        }
        compared = settings.list_compared_checkpoints()
        self.trained = {id.path_name: id for id in compared if id.stages}
        measured = [
            *map(CheckpointId.parse, settings.harmony.models),
            *settings.list_mmlu_checkpoints(),
            *compared,
            *settings.list_prompt_checkpoints(),
        ]
        self.measured = {id.path_name: id for id in measured}

    # Models

    def get_manifest(self, kind: str, repository: str) -> str:
        return f"{self._settings.hub.path}/{kind}s/{repository}/manifest.json"

    def list_datasets(self, names: Iterable[str]) -> list[str]:
        return [self.get_manifest("dataset", name) for name in names]

    def get_base_manifest(self, wildcards) -> str:
        """Return the manifest of a model, or of the base model of a chunked checkpoint."""
        id = CheckpointId.parse(wildcards.get("model") or wildcards.checkpoint)
        return self.get_manifest("model", id.model)

    def get_checkpoint_manifest(self, wildcards) -> str:
        """Return the manifest of the checkpoint in the wildcards, or of the API server that runs it."""
        if wildcards.checkpoint not in self.measured:
            near = format_suggestion(wildcards.checkpoint, self.measured)
            raise UserError(
                f"{wildcards.checkpoint} is no checkpoint that this config measures.{near}"
            )
        return self.get_measured_manifest(self.measured[wildcards.checkpoint])

    def get_measured_manifest(self, checkpoint: CheckpointId) -> str:
        """Return the manifest of a checkpoint, or of the API server that runs it."""
        if str(checkpoint) in self._settings.served:
            return f"{self._settings.hub.path}/served/{checkpoint.model}/manifest.json"
        return self.locate_checkpoint(checkpoint)

    def locate_checkpoint(self, checkpoint: CheckpointId) -> str:
        """Return the hub manifest of an unchanged model, else the manifest of the checkpoint that the run builds."""
        if checkpoint.plan in (None, UNCHANGED) and not checkpoint.stages:
            return self.get_manifest("model", checkpoint.model)
        return f"results/checkpoints/{checkpoint.path_name}/manifest.json"

    def get_revision(self, wildcards) -> str | None:
        """Return the commit in a model's name, or the revision that the models table pins, or None."""
        name, _, commit = wildcards.name.partition("@")
        is_dataset = wildcards.get("kind") == "dataset"
        row = None if is_dataset else self._settings.models.get(f"{wildcards.org}/{name}")
        return commit or (row.revision if row else None)

    def get_metadata(self, model: str, revision: str | None = None) -> str:
        """Return the metadata of a model on the hub, or the manifest of a local or generated model."""
        settings = self._settings
        if settings.source == "miniature" or model in settings.folders:
            return self.get_manifest("model", model)
        return f"{settings.hub.path}/submitted/{model}@{revision or 'default'}/metadata.json"

    def list_hub_manifests(self, wildcards) -> list[str]:
        """List the manifests of every model and dataset that the studies of this config fetch."""
        settings = self._settings
        if settings.source == "miniature":
            return []
        tasks: list[str] = []
        if settings.harmony.models:
            tasks += settings.harmony.tasks
        if settings.requests:
            tasks += [entry.task for entry in settings.suite.tasks]
        recipes = [settings.get_stage_recipe(id.stages[-1])[1] for id in self.trained.values()]
        timed = settings.chunking.timed_models
        measures_perplexity = {"training", "chunking"} & self.records.keys()
        datasets = [
            *(settings.tasks[task].dataset for task in tasks),
            *(MEASURED_TEXTS.values() if measures_perplexity else []),
            *([QUESTION_DATASETS["mmlu"]] if timed else []),
            *([MMLU_DATASET] if "mmlu" in self.records else []),
            *(recipe.dataset for recipe in recipes if recipe.dataset),
            *(name for run in settings.prompt_runs.values() for name in run.datasets),
        ]
        models = {*(id.model for id in self.measured.values()), *timed} - {*settings.served}
        manifests = [self.get_manifest("model", name) for name in sorted(models)]
        return manifests + self.list_datasets(dict.fromkeys(datasets))

    # Training

    def list_recipe_sources(self, wildcards) -> Any:
        """List the files that a recipe's samples are made of: the manifest of its dataset, or the user's files."""
        recipe = self._settings.training.recipes[wildcards.recipe]
        return self.list_datasets([recipe.dataset]) if recipe.dataset else recipe.files

    def get_stage_base(self, wildcards) -> str:
        """Return the manifest of the checkpoint that the last stage trains."""
        return self.locate_checkpoint(self.trained[wildcards.checkpoint].previous_stage)

    def get_stage_samples(self, wildcards) -> str:
        trained = self.trained[wildcards.checkpoint]
        recipe, _ = self._settings.get_stage_recipe(trained.stages[-1])
        return f"results/samples/{recipe}/{CheckpointId(trained.model).path_name}/samples.json"

    # Prompts and items

    def list_run_datasets(self, wildcards) -> list[str]:
        return self.list_datasets(self._settings.prompt_runs[wildcards.run].datasets)

    def list_explained_prompt(self, wildcards) -> dict[str, Any]:
        """Return the inputs of explain_prompt: a prompt run's datasets, and a model or its unchunked base."""
        settings = self._settings
        if not settings.prompts.models:
            raise UserError(
                "prompts.models is an empty list; expected a model, whose tokenizer is used."
            )
        name, _, _ = settings.parse_explained_question()
        base = CheckpointId(settings.list_prompt_checkpoints()[0].model)
        data = self.list_datasets(settings.prompt_runs[name].datasets)
        return {"model": self.get_measured_manifest(base), "data": data}

    def list_explained_training(self, wildcards) -> dict[str, Any]:
        """Return the inputs of explain_training: a task's dataset, and the ranked models or their unchunked bases."""
        settings = self._settings
        if not settings.harmony.models:
            raise UserError(
                "harmony.models is an empty list; expected models, whose tokenizers explain_training"
                " uses."
            )
        bases = dict.fromkeys(CheckpointId.parse(name).model for name in settings.harmony.models)
        task, _ = find_explained_task(settings)
        return {
            "model": [self.get_measured_manifest(CheckpointId(name)) for name in bases],
            "data": self.list_datasets([settings.tasks[task].dataset]),
        }
