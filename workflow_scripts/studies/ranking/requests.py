"""What the tables and figures of the ranking are asked: models, tasks, and the cells that should be there."""

from collections.abc import Iterable
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.scores.foreign.cells import KnownModel
from workflow_scripts.settings.grids import OWN_GRID, GridFile
from workflow_scripts.settings.harmony import Protocol, TaskRecipe
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.packs import seeds_of, tasks_of
from workflow_scripts.settings.request import StepRequest
from workflow_scripts.settings.tables import CATEGORIES, ModelRow, TaskRow

# From what it is known how far scores move when a model is trained again: cells that are trained with several
# seeds, two releases of the grid's own scores, or those that were published of other models.
Trainings = Literal["seeds", "release", "published", "unknown"]


class _Facts(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RankedTask(_Facts):
    """A row of the tasks table; its metric as records name it, with its filter."""

    task: str
    display_name: str
    category: str
    metric: str


class Wanted(_Facts):
    """What one protocol is to measure: of that the tables name what is missing."""

    models: tuple[str, ...]
    tasks: tuple[str, ...]


class TasksRequest(StepRequest):
    tasks: tuple[RankedTask, ...]

    @property
    def names(self) -> dict[str, str]:
        """How people call each task."""
        return {row.task: row.display_name for row in self.tasks}


class GridWords(TasksRequest):
    """How a grid is described, and its tasks: what figures of it are drawn with."""

    grid: GridFile

    @property
    def in_categories(self) -> tuple[RankedTask, ...]:
        """The tasks in the order of their categories."""
        order = list(self.grid.categories or CATEGORIES)
        return tuple(sorted(self.tasks, key=lambda row: order.index(row.category)))

    @property
    def metrics(self) -> dict[str, str]:
        """The metric that tables report of each task."""
        return {row.task: row.metric for row in self.tasks}


class ModelsRequest(StepRequest):
    """All known models."""

    models: tuple[KnownModel, ...]


class GridRequest(GridWords, ModelsRequest):
    """All known models and tasks, and by protocol what is wanted."""

    wanted: dict[Protocol, Wanted]
    trainings: Trainings = "unknown"


class RankingRequest(GridRequest):
    """The grid, and how often it is drawn again for intervals."""

    draws: int
    seed: int


class PriceRequest(GridRequest):
    """The grid, the tokens that training on each task takes, and where random choices begin."""

    prices: dict[str, float]
    seed: int


class PairRequest(GridRequest):
    """The grid, and the tasks whose rankings stand side by side: two, one where the config has no other, or
    none, for the first two that there are scores of.
    """

    pair: tuple[str, ...]


class ScoresRequest(TasksRequest):
    """The models and tasks of the config; imported scores may be on others, whose metrics are checked.

    A checkpoint goes by the size of the model that it was made from; imported models by those of all `models`.
    """

    parameters: dict[str, int]
    models: tuple[KnownModel, ...] = ()
    metrics: dict[str, str]


def ranked_tasks(rows: Iterable[TaskRow]) -> tuple[RankedTask, ...]:
    names = ("task", "display_name", "category")
    return tuple(
        RankedTask(**{name: getattr(row, name) for name in names}, metric=row.full_metric)
        for row in rows
    )


def ranked_models(rows: Iterable[ModelRow]) -> tuple[KnownModel, ...]:
    names = set(KnownModel.model_fields)
    return tuple(KnownModel(**row.model_dump(include=names)) for row in rows)


def hub_models(settings: Settings) -> tuple[KnownModel, ...]:
    """Those that others have too."""
    return ranked_models(row for row in settings.models.values() if row.source == "huggingface")


def grid_tasks(settings: Settings, grid: GridFile) -> tuple[RankedTask, ...]:
    """Those of its categories, or else all known ones; a file may describe tasks of its own."""
    rows = {row.task: row for row in ranked_tasks(settings.tasks.values())}
    for task, one in grid.tasks.items():
        rows[task] = RankedTask(task=task, display_name=one.name, category="", metric=one.metric)
    if not grid.categories:
        return tuple(rows.values())
    return tuple(
        rows[task].model_copy(update={"category": category})
        for task, category in grid.category_of.items()
    )


def grid_words(settings: Settings, name: str = OWN_GRID) -> GridWords:
    grid = settings.grids[name]
    return GridWords(grid=grid, tasks=grid_tasks(settings, grid))


def models_request(settings: Settings) -> ModelsRequest:
    return ModelsRequest(models=ranked_models(settings.models.values()))


def grid_request(settings: Settings, name: str = OWN_GRID) -> GridRequest:
    """Of others' scores no cell is wanted; nor of ours without models, and imported ones are all there is."""
    words, harmony = grid_words(settings, name), settings.harmony
    run = words.grid.run
    return GridRequest(
        **dict(words),
        models=models_request(settings).models if run else hub_models(settings),
        trainings=_trainings(settings, name),
        wanted={
            protocol: Wanted(models=harmony.models, tasks=tasks_of(settings, "harmony", protocol))
            for protocol in get_args(Protocol)
            if run and harmony.models and protocol in harmony.protocols
        },
    )


def _trainings(settings: Settings, name: str) -> Trainings:
    grid = settings.grids[name]
    if not grid.run:
        return "release" if grid.release else "unknown"
    if len(seeds_of(settings, "harmony", "train_before_test")) > 1:
        return "seeds"
    return "published" if settings.source == "huggingface" else "unknown"


def pair_request(settings: Settings, name: str = OWN_GRID) -> PairRequest:
    request, harmony = grid_request(settings, name), settings.harmony
    pair = request.grid.pair
    if request.grid.run:  # scores from elsewhere alone may be on other tasks than the config's
        pair = harmony.task_pair or (harmony.tasks[:2] if harmony.models else ())
    return PairRequest(**dict(request), pair=pair)


def ranking_request(settings: Settings, name: str = OWN_GRID) -> RankingRequest:
    request = grid_request(settings, name)
    return RankingRequest(
        **dict(request), draws=settings.harmony.bootstrap_draws, seed=settings.seed
    )


def price_request(settings: Settings, name: str = OWN_GRID) -> PriceRequest:
    """By the published recipe, whatever the config's own: others' scores are priced as they were made."""
    request, most = grid_request(settings, name), TaskRecipe().max_training_items
    tasks = [settings.work[task] for task in request.names if task in settings.work]
    prices = {
        row.task: float(min(row.training_items, most or row.training_items) * row.training_tokens)
        for row in tasks
    }
    return PriceRequest(**dict(request), prices=prices, seed=settings.seed)


def scores_request(settings: Settings) -> ScoresRequest:
    models = settings.harmony.models
    return ScoresRequest(
        tasks=shown_tasks(settings),
        parameters={
            name: settings.model(CheckpointId.parse(name).model).parameters for name in models
        },
        models=models_request(settings).models,
        metrics={name: row.full_metric for name, row in settings.tasks.items()},
    )


def shown_tasks(settings: Settings) -> tuple[RankedTask, ...]:
    """Those of the config; scores from elsewhere alone are shown on any task that is known."""
    harmony = settings.harmony
    return ranked_tasks(
        map(settings.task, harmony.tasks) if harmony.models else settings.tasks.values()
    )
