"""Build the parameters of a job that evaluates one model on several tasks, for Harmony's grid or a leaderboard row.

A cell is one model on one task, with its own record; its request is the job's request with only that task.
"""

from pathlib import Path
from typing import Self

from workflow_scripts.settings.compute import FLASH, Compute, RowCompute
from workflow_scripts.settings.harmony import Draws, Protocol, TaskRecipe
from workflow_scripts.settings.job_batches import Study, list_cell_names, list_cell_seeds
from workflow_scripts.settings.job_params import JobParams
from workflow_scripts.settings.leaderboard_submissions import LeaderboardRequest
from workflow_scripts.settings.settings import Settings


class TaskRequest(JobParams):
    """One task of a job: lm-eval's task, its primary metric, and how much of it is evaluated."""

    harness_task: str
    metric: str
    dataset: str
    shots: int
    max_test_items: int | None
    cluster: tuple[str, ...] = ()  # columns of the data that define clusters of items


class CellsRequest(JobParams):
    """All parameters of a job that the records of its cells depend on."""

    study: Study
    protocol: Protocol
    tasks: dict[str, TaskRequest]  # by their names in the tasks table
    seeds: tuple[int, ...]  # each task is trained once per seed
    compute: Compute | RowCompute
    chat_template: bool = False
    draws: Draws = "own"
    # Limit the items of each member of a group, not of the group.
    max_items_per_member: bool = False
    recipe: TaskRecipe | None = None  # of the training before the test
    base: str | None = None  # for delta weights: the folder of the base model in the hub folder

    def split(self) -> dict[str, Self]:
        """Split the request into one request per cell, keyed by the name of the cell's record."""
        return {
            cell: self.model_copy(update={"tasks": {name: task}, "seeds": (seed,)})
            for name, task in self.tasks.items()
            for cell, seed in zip(list_cell_names(name, self.seeds), self.seeds, strict=True)
        }

    @property
    def task(self) -> TaskRequest:
        """Return the one task of a cell."""
        (task,) = self.tasks.values()
        return task

    @property
    def seed(self) -> int:
        """Return the one seed of a cell."""
        (seed,) = self.seeds
        return seed

    def get_base_manifest(self, model: Path) -> Path | None:
        """Return the manifest of the base of delta weights, in the same hub folder as `model`, if any."""
        return model.parents[2] / self.base / model.name if self.base else None


def build_harmony_cells(
    settings: Settings, protocol: Protocol, tasks: tuple[str, ...]
) -> CellsRequest:
    """Build the request of a model of the Harmony grid on a batch of tasks."""
    harmony = settings.harmony
    shots = harmony.shots if protocol == "few_shot" else 0
    return CellsRequest(
        study="harmony",
        protocol=protocol,
        tasks={
            name: _build_task(settings, name, None, shots, harmony.max_test_items) for name in tasks
        },
        seeds=list_cell_seeds(settings, "harmony", protocol),
        compute=settings.compute,
        chat_template=harmony.chat_template,
        draws=harmony.draws,
        recipe=settings.task_recipe if protocol == "train_before_test" else None,
    )


def build_suite_cells(
    settings: Settings,
    request: LeaderboardRequest,
    protocol: Protocol,
    tasks: tuple[str, ...],
    base: str | None = None,
) -> CellsRequest:
    """Build the request of a leaderboard row, in the precision of its submission.

    `base` is the folder of the base of delta weights, among the hub folder's models.
    """
    compute, precision = settings.compute, request.precision
    if compute.attention == FLASH and precision == "float32":
        compute = compute.model_copy(update={"attention": "auto"})  # flash-attn needs 16 bits
    return CellsRequest(
        study="suite",
        protocol=protocol,
        tasks={
            task.task: _build_task(
                settings,
                task.task,
                task.metric,
                task.shots,
                task.max_items or settings.suite.max_items,
            )
            for task in settings.suite.tasks
            if task.task in tasks
        },
        seeds=list_cell_seeds(settings, "suite", protocol),
        compute=RowCompute(**compute.model_dump() | {"dtype": precision}),
        max_items_per_member=True,
        base=base,
    )


def _build_task(
    settings: Settings, name: str, metric: str | None, shots: int, max_test_items: int | None
) -> TaskRequest:
    """Build the request of a task of the tasks table; without `metric`, of the table's metric."""
    row = settings.tasks[name]
    return TaskRequest(
        harness_task=row.harness_task,
        metric=metric or row.full_metric,
        dataset=row.dataset,
        shots=shots,
        max_test_items=max_test_items,
        cluster=tuple((row.cluster or "").split()),
    )
