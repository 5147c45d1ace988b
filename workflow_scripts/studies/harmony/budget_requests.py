"""What harmony.budget asks: the models, what training all of them on each task takes, and what it may take."""

from pydantic import BaseModel, ConfigDict

from workflow_scripts.core.errors import UserError
from workflow_scripts.planning.needs import Planner
from workflow_scripts.planning.wording import hours
from workflow_scripts.planning.work import Work
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.packs import tasks_of
from workflow_scripts.studies.harmony.separate_hours import model_hours
from workflow_scripts.studies.ranking.requests import (
    GridRequest,
    ModelsRequest,
    TasksRequest,
    models_request,
    ranked_tasks,
)


class BudgetRequest(TasksRequest, ModelsRequest):
    """Hours are of all models that are trained together."""

    said: str
    hours: float
    unit: str
    prices: dict[str, float]
    items: dict[str, int]
    """Of the test of each task."""
    trained: tuple[str, ...]
    half_width: float | None
    seed: int

    @property
    def metrics(self) -> dict[str, str]:
        return {row.task: row.metric for row in self.tasks}


class Choice(BaseModel):
    """The tasks that are paid for, and how wrong a place from them and from all tasks is expected to be."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tasks: tuple[str, ...]
    """In the order in which they tell most more for their price."""
    looks: int | None
    """After how many of them half of the panel's models would be known as well as is wanted."""
    off: float
    ranks: float
    off_of_all: float
    ranks_of_all: float
    off_of_cheapest: float


class LooksRequest(GridRequest):
    """What is wanted, the tasks that were trained on in their turn, and how many of them there can be at most."""

    turn: tuple[str, ...]
    most: int
    prices: dict[str, float]
    half_width: float | None
    order: tuple[str, ...]


def panel_file(settings: Settings) -> str:
    return settings.harmony.panel or settings.resource("published/harmony_leaderboard.csv")


def budget_request(settings: Settings) -> BudgetRequest:
    """Prices are of the config's models together, as `snakemake plan` reckons, without loading them."""
    said, models = settings.harmony.budget or "100%", settings.harmony.models
    every = settings.model_copy(update={"paid_tasks": None})
    tasks = tasks_of(every, "harmony", "train_before_test")
    prices, work = _prices(Planner(every), every, tasks), Work(every)
    whole = sum(prices.values())
    budget = float(said[:-1]) * (whole / 100 if said.endswith("%") else 1)
    unit = "GPU hours" if settings.on_gpus else "CPU hours"
    cheapest = min(prices, key=prices.__getitem__, default=None)
    # A hair above, so that 100% pays for all.
    if cheapest is None or budget * (1 + 1e-9) < prices[cheapest]:
        least = f"{cheapest}, takes {hours(prices[cheapest])}" if cheapest else "is none"
        share = f" ({100 * prices[cheapest] / whole:.1f}%)" if cheapest else ""
        raise UserError(
            f"harmony.budget is {said!r}, {hours(budget)} {unit} for {len(models)} models; expected at least"
            f" what training them on the cheapest of harmony.tasks takes: {least}{share}."
        )
    return BudgetRequest(
        tasks=ranked_tasks(settings.tasks.values()),
        models=models_request(settings).models,
        said=said,
        hours=budget * (1 + 1e-9),
        unit=unit,
        prices=prices,
        items={task: work.test(task, 0).items for task in tasks},
        trained=models,
        half_width=settings.harmony.stop and settings.harmony.stop.half_width,
        seed=settings.seed,
    )


def _prices(planner: Planner, settings: Settings, tasks: tuple[str, ...]) -> dict[str, float]:
    threads = settings.compute.threads
    found = [
        model_hours(planner, name, tasks, trains=True, shots=0, threads=threads).tasks
        for name in settings.harmony.models
    ]
    return {task: sum(one[task].training + one[task].testing for one in found) for task in tasks}
