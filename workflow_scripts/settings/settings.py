"""Define the settings: the checked config, the rows of its tables, and values derived from both."""

import math
from dataclasses import replace
from functools import cached_property

from pydantic import Field

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.ids import TUNED, UNCHANGED, CheckpointId
from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.config import Config
from workflow_scripts.settings.flags import Flag
from workflow_scripts.settings.grids import GridFile
from workflow_scripts.settings.harmony import TaskRecipe
from workflow_scripts.settings.leaderboard_submissions import LeaderboardRequest
from workflow_scripts.settings.names import locate_file
from workflow_scripts.settings.prompts.spec import PromptRun
from workflow_scripts.settings.tables import (
    DeviceRow,
    ModelRow,
    TaskRow,
    WorkRow,
)
from workflow_scripts.settings.training import USUAL, Recipe


class Settings(Config):
    """The checked config with the rows of its tables."""

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
    requests: dict[str, LeaderboardRequest] = Field({})
    """Submitted models, by their files' names."""
    refused_requests: dict[str, str] = Field({})
    """What is wrong with the other files."""
    flags: tuple[Flag, ...]
    """Rows of the leaderboard that are marked."""
    grids: dict[str, GridFile]
    """The files in config/grids, by their names."""

    def find_resource(self, name: str) -> str:
        """Return the path of a file in resources: in the working directory, else in the Snakefile's folder."""
        return str(locate_file(f"resources/{name}"))

    def get_chunked_checkpoints(self) -> dict[str, Checkpoint]:
        """Return the chunked checkpoints by their id, for instance `Qwen/Qwen2.5-0.5B-Instruct@k2m12`."""
        return {
            str(checkpoint.build_id(self.models[checkpoint.model].layers)): checkpoint
            for checkpoint in self.chunking.checkpoints
        }

    def list_mmlu_checkpoints(self) -> list[CheckpointId]:
        """List the checkpoints to evaluate on MMLU: unchanged models, then each chunked variant at each stage."""
        names = [*self.chunking.models, *self.mmlu.models]
        return list(
            dict.fromkeys([*map(CheckpointId.parse, names), *self.list_staged_checkpoints()])
        )

    def list_staged_checkpoints(self) -> list[CheckpointId]:
        """List the models with chunked variants, and each variant untrained and after each stage.

        The untrained variant with the unchanged plan is omitted, because it is the model.
        """
        staged = [CheckpointId(name) for name in self.chunking.models]
        for name, checkpoint in self.get_chunked_checkpoints().items():
            variant = CheckpointId.parse(name)
            has_chunks = checkpoint.mode != "prune" and variant.plan != UNCHANGED
            staged += [
                replace(variant, stages=stages)
                for stages in self._list_stages(has_chunks)
                if stages or variant.plan != UNCHANGED
            ]
        return staged

    def _list_stages(self, has_chunks: bool) -> list[tuple[str, ...]]:
        """List the stages of a checkpoint: untrained, and after each stage that can train it."""
        training = self.training

        def can_train(stage: str) -> bool:
            name = self._get_recipe_name(stage)
            return name is not None and (has_chunks or not training.recipes[name].needs_chunks)

        stages: list[tuple[str, ...]] = [()]
        if can_train("cpt"):
            for cpt in [f"cpt.{tokens}k" for tokens in sorted(training.cpt_tokens)] or ["cpt"]:
                stages.append((cpt,))
                if can_train("sft"):
                    stages.append((cpt, "sft"))
        return stages

    def _get_recipe_name(self, stage: str) -> str | None:
        """Return the name of a stage's recipe; the usual one depends on the source."""
        name = getattr(self.training, stage)
        if name != USUAL:
            return name
        return f"miniature-{stage}" if self.source == "miniature" else stage

    def list_compared_checkpoints(self) -> list[CheckpointId]:
        """List the checkpoints that the training study compares: staged ones, and other models with their +tuned."""
        checkpoints = self.list_staged_checkpoints()
        for name in self.training.models:
            checkpoints += [CheckpointId(name), CheckpointId(name, stages=(TUNED,))]
        return list(dict.fromkeys(checkpoints))

    @cached_property
    def suite_rows(self) -> dict[str, LeaderboardRequest]:
        """Return the requests by the names of their rows in paths; hub/submission.py refuses duplicates."""
        return {request.row: request for request in self.requests.values()}

    @property
    def on_gpus(self) -> bool:
        """Return whether jobs request GPUs; the demo needs none and would only block one."""
        return self.source != "miniature" and self.compute.finds_gpus

    @property
    def task_recipe(self) -> TaskRecipe:
        """Return the recipe of the training before a test."""
        usual = "miniature" if self.source == "miniature" else "published"
        return self.harmony.recipes[self.harmony.recipe or usual]

    def get_stage_recipe(self, stage: str) -> tuple[str, Recipe]:
        """Return the name of a stage's recipe, and the recipe."""
        kind, _, tokens = stage.partition(".")
        name = self._get_recipe_name(kind)
        assert name is not None, f"no checkpoint has the stage {stage}, which has no recipe"
        recipe = self.training.recipes[name]
        if tokens:  # all samples of a text but the last have max_length tokens
            step = recipe.batch_size * recipe.max_length
            steps = math.ceil(int(tokens.removesuffix("k")) * 1000 / step)
            recipe = recipe.model_copy(update={"max_steps": steps})
        return name, recipe

    def get_stage_attention(self, trained: CheckpointId) -> str:
        """Return the attention for training the last stage of a checkpoint."""
        if trained.plan is None:
            return self.compute.attention
        _, recipe = self.get_stage_recipe(trained.stages[-1])
        return self.compute.choose_chunked_attention(recipe.precision)

    def list_prompt_checkpoints(self) -> list[CheckpointId]:
        """List the checkpoints of the prompt runs."""
        return [CheckpointId.parse(name) for name in self.prompts.models]

    def parse_explained_question(self) -> tuple[str, str | None, int]:
        """Return the run, the subject (None if not given) and the number of the question that `explain` names."""
        # Missing parts are empty.
        run, subject, number = f"{self.explain or ''}//".split("/")[:3]
        run = run or next(iter(self.prompt_runs), "")
        if run not in self.prompt_runs:
            raise UserError(
                f"explain is {self.explain!r}; expected a prompt run, as in run6/anatomy/3."
            )
        return run, subject or None, int(number or 0)
