"""What the scripts of the ranking are given of the config: a grid with its tasks, and the models that are known."""

from collections.abc import Iterable
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict

from workflow_scripts.scores.foreign.cells import KnownModel
from workflow_scripts.settings.grids import OWN_GRID, GridFile
from workflow_scripts.settings.harmony import Protocol, TaskRecipe
from workflow_scripts.settings.job_batches import list_cell_seeds, list_tasks_asked
from workflow_scripts.settings.job_params import JobParams
from workflow_scripts.settings.settings import Settings
from workflow_scripts.settings.tables import CATEGORIES, TaskRow

# From what it is known how far scores move when a model is trained again: cells that are trained with several
# seeds, two releases of the grid's own scores, or those that were published of other models.
Trainings = Literal["seeds", "release", "published", "unknown"]


class RankedTask(BaseModel):
    """A row of the tasks table; its metric as records name it, with its filter."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: str
    display_name: str
    category: str
    metric: str


class ModelsRequest(JobParams):
    """All known models."""

    models: tuple[KnownModel, ...]


class GridSettings(JobParams):
    """How a grid is described, and its tasks."""

    grid: GridFile
    tasks: tuple[RankedTask, ...]
    trainings: Trainings

    @property
    def names(self) -> dict[str, str]:
        """How people call each task."""
        return {row.task: row.display_name for row in self.tasks}

    @property
    def metrics(self) -> dict[str, str]:
        """The metric that tables report of each task."""
        return {row.task: row.metric for row in self.tasks}

    @property
    def in_categories(self) -> tuple[RankedTask, ...]:
        """The tasks in the order of their categories."""
        order = list(self.grid.categories or CATEGORIES)
        return tuple(sorted(self.tasks, key=lambda row: order.index(row.category)))


def list_ranked_tasks(rows: Iterable[TaskRow]) -> tuple[RankedTask, ...]:
    names = ("task", "display_name", "category")
    return tuple(
        RankedTask(**{name: getattr(row, name) for name in names}, metric=row.full_metric)
        for row in rows
    )


def list_known_models(settings: Settings, source: str | None = None) -> tuple[KnownModel, ...]:
    """List the rows of the models table, or those of one source."""
    names = set(KnownModel.model_fields)
    rows = [row for row in settings.models.values() if source in (None, row.source)]
    return tuple(KnownModel(**row.model_dump(include=names)) for row in rows)


def models_request(settings: Settings) -> ModelsRequest:
    return ModelsRequest(models=list_known_models(settings))


def list_shown_tasks(settings: Settings) -> tuple[RankedTask, ...]:
    """List the tasks of the config; scores from elsewhere alone are shown on any task that is known."""
    harmony = settings.harmony
    return list_ranked_tasks(
        map(settings.task, harmony.tasks) if harmony.models else settings.tasks.values()
    )


def read_grid_settings(settings: Settings, name: str = OWN_GRID) -> dict[str, Any]:
    """Read what every script of a grid is given, as plain values."""
    grid = settings.grids[name]
    rows = {row.task: row for row in list_ranked_tasks(settings.tasks.values())}
    for task, one in grid.tasks.items():
        rows[task] = RankedTask(task=task, display_name=one.name, category="", metric=one.metric)
    tasks = tuple(rows.values())
    if grid.categories:
        tasks = tuple(
            rows[task].model_copy(update={"category": category})
            for task, category in grid.category_of.items()
        )
    found = GridSettings(grid=grid, tasks=tasks, trainings=_find_trainings(settings, grid))
    return found.to_params()


def _find_trainings(settings: Settings, grid: GridFile) -> Trainings:
    if not grid.run:
        return "release" if grid.release else "unknown"
    if len(list_cell_seeds(settings, "harmony", "train_before_test")) > 1:
        return "seeds"
    return "published" if settings.source == "huggingface" else "unknown"


def list_grid_models(settings: Settings, name: str) -> list[dict[str, Any]]:
    """List the models that are known of a grid, as plain values; of others' grids those of the hub."""
    source = None if settings.grids[name].run else "huggingface"
    return [one.model_dump(mode="json") for one in list_known_models(settings, source)]


def list_wanted_cells(settings: Settings, name: str) -> dict[str, dict[str, list[str]]]:
    """List by protocol the models and tasks that this run measures; of others' scores no cell is wanted."""
    harmony = settings.harmony
    if not settings.grids[name].run or not harmony.models:
        return {}
    return {
        protocol: {
            "models": list(harmony.models),
            "tasks": list(list_tasks_asked(settings, "harmony", protocol)),
        }
        for protocol in get_args(Protocol)
        if protocol in harmony.protocols
    }


def choose_task_pair(settings: Settings, name: str) -> list[str]:
    """Choose two tasks, one where the config has no other, or none for the first two that there are scores of."""
    grid, harmony = settings.grids[name], settings.harmony
    if not grid.run:
        return list(grid.pair)
    # Scores from elsewhere alone may be on other tasks than the config's.
    return list(harmony.task_pair or (harmony.tasks[:2] if harmony.models else ()))


def count_training_tokens(settings: Settings) -> dict[str, float]:
    """Count the tokens that training on each task takes by the published recipe, whatever the config's own."""
    most = TaskRecipe().max_training_items
    return {
        row.task: float(min(row.training_items, most or row.training_items) * row.training_tokens)
        for row in settings.work.values()
    }
