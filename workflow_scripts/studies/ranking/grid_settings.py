"""Build the parameters of the ranking scripts from the config: a grid with its tasks, and the known models."""

from collections.abc import Iterable
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict

from workflow_scripts.scores.foreign.cells import KnownModel
from workflow_scripts.settings.grids import OWN_GRID, GridFile
from workflow_scripts.settings.harmony import Protocol, TaskRecipe
from workflow_scripts.settings.job_batches import list_study_tasks
from workflow_scripts.settings.job_params import JobParams
from workflow_scripts.settings.settings import Settings
from workflow_scripts.settings.tables import CATEGORIES, TaskRow


class RankedTask(BaseModel):
    """A row of the tasks table, with its metric named as in records, including the filter."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: str
    display_name: str
    category: str
    metric: str


class GridSettings(JobParams):
    """A grid and its tasks."""

    grid: GridFile
    tasks: tuple[RankedTask, ...]

    @property
    def names(self) -> dict[str, str]:
        """Return the display name of each task."""
        return {row.task: row.display_name for row in self.tasks}

    @property
    def metrics(self) -> dict[str, str]:
        """Return the metric that tables report for each task."""
        return {row.task: row.metric for row in self.tasks}

    @property
    def in_categories(self) -> tuple[RankedTask, ...]:
        """Return the tasks ordered by category."""
        order = list(self.grid.categories or CATEGORIES)
        return tuple(sorted(self.tasks, key=lambda row: order.index(row.category)))


def list_ranked_tasks(rows: Iterable[TaskRow]) -> tuple[RankedTask, ...]:
    return tuple(
        RankedTask(
            task=row.task,
            display_name=row.display_name,
            category=row.category,
            metric=row.full_metric,
        )
        for row in rows
    )


def list_model_rows(settings: Settings, source: str | None = None) -> tuple[KnownModel, ...]:
    """List the rows of the models table, optionally only those of one source."""
    names = set(KnownModel.model_fields)
    rows = [row for row in settings.models.values() if source in (None, row.source)]
    return tuple(KnownModel(**row.model_dump(include=names)) for row in rows)


def list_shown_tasks(settings: Settings) -> tuple[RankedTask, ...]:
    """List the study's tasks; without models to measure, all known tasks, for imported scores."""
    harmony = settings.harmony
    names = harmony.tasks if harmony.models else settings.tasks
    return list_ranked_tasks(settings.tasks[name] for name in names)


def read_grid_settings(settings: Settings, name: str = OWN_GRID) -> dict[str, Any]:
    """Build the parameters that every script of a grid gets, as plain values."""
    grid = settings.grids[name]
    tasks = {row.task: row for row in list_ranked_tasks(settings.tasks.values())}
    for task, row in grid.tasks.items():
        tasks[task] = RankedTask(task=task, display_name=row.name, category="", metric=row.metric)
    if grid.categories:
        tasks = {
            task: tasks[task].model_copy(update={"category": category})
            for task, category in grid.categories_by_task.items()
        }
    return GridSettings(grid=grid, tasks=tuple(tasks.values())).to_params()


def list_grid_models(settings: Settings, name: str) -> list[dict[str, Any]]:
    """List the known models of a grid as plain values; for imported grids only those of the Hugging Face hub."""
    source = None if settings.grids[name].run else "huggingface"
    return [model.model_dump(mode="json") for model in list_model_rows(settings, source)]


def list_requested_cells(settings: Settings, name: str) -> dict[str, dict[str, list[str]]]:
    """List by protocol the models and tasks that this run measures; empty for imported grids."""
    harmony = settings.harmony
    if not settings.grids[name].run or not harmony.models:
        return {}
    return {
        protocol: {
            "models": list(harmony.models),
            "tasks": list(list_study_tasks(settings, "harmony", protocol)),
        }
        for protocol in get_args(Protocol)
        if protocol in harmony.protocols
    }


def choose_task_pair(settings: Settings, name: str) -> list[str]:
    """Choose two tasks; an empty list means the first two with scores, as imported scores may have other tasks."""
    grid, harmony = settings.grids[name], settings.harmony
    if not grid.run:
        return list(grid.pair)
    return list(harmony.task_pair or (harmony.tasks[:2] if harmony.models else ()))


def count_training_tokens(settings: Settings) -> dict[str, float]:
    """Compute the training tokens of each task with the published recipe, regardless of the config's recipe."""
    most = TaskRecipe().max_training_items
    return {
        row.task: float(min(row.training_items, most or row.training_items) * row.training_tokens)
        for row in settings.work.values()
    }
