"""What the tables of the leaderboard are asked: its tasks, and which rows are marked."""

import csv
from pathlib import Path

from pydantic import Field

from workflow_scripts.scores.published_protocols import read_protocols
from workflow_scripts.settings.flags import Flag
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.request import StepRequest


class ShownTask(StepRequest):
    task: str
    title: str
    shots: int
    metric: str
    shown_as: str = Field(description="What readers know the metric as")


class PublishedBaseline(StepRequest):
    """A published score that stands beside those of the models, and is none of them."""

    name: str
    task: str
    metric: str
    percent: float
    items: int
    what: str
    protocol: tuple[str, ...] = Field(
        (), description="What was otherwise than on the Open LLM Leaderboard"
    )
    source: str


class SuiteTables(StepRequest):
    tasks: tuple[ShownTask, ...]
    baselines: tuple[PublishedBaseline, ...] = ()
    flags: tuple[Flag, ...] = ()
    source: str = "huggingface"


class SuiteBoard(StepRequest):
    tasks: tuple[ShownTask, ...]
    baselines: tuple[PublishedBaseline, ...] = ()
    shown_items: int


class SuiteAbout(StepRequest):
    """What readers of the leaderboard are told of its rules."""

    tasks: tuple[ShownTask, ...]
    max_items: dict[str, int | None] = Field(description="By task")
    requests: str
    flags: str
    memory_mb: int
    open_licences: tuple[str, ...]
    on_gpu: bool


def shown_tasks(settings: Settings) -> tuple[ShownTask, ...]:
    found = []
    for one in settings.suite.tasks:
        row = settings.task(one.task)
        metric = one.metric or row.full_metric
        found.append(
            ShownTask(
                task=one.task,
                title=row.display_name,
                shots=one.shots,
                metric=metric,
                shown_as=one.shown_as or metric,
            )
        )
    return tuple(found)


def suite_tables(settings: Settings) -> SuiteTables:
    return SuiteTables(
        tasks=shown_tasks(settings),
        baselines=_baselines(settings),
        flags=settings.flags,
        source=settings.source,
    )


def suite_board(settings: Settings) -> SuiteBoard:
    return SuiteBoard(
        tasks=shown_tasks(settings),
        baselines=_baselines(settings),
        shown_items=settings.suite.shown_items,
    )


def suite_about(settings: Settings) -> SuiteAbout:
    suite = settings.suite
    return SuiteAbout(
        tasks=shown_tasks(settings),
        max_items={one.task: one.max_items or suite.max_items for one in suite.tasks},
        requests=suite.requests,
        flags=suite.flags,
        memory_mb=suite.memory_mb,
        open_licences=suite.open_licences,
        on_gpu=settings.on_gpus,
    )


def _baselines(settings: Settings) -> tuple[PublishedBaseline, ...]:
    """Those of tasks and metrics that the suite has; none is of generated questions."""
    if settings.source == "miniature":
        return ()
    request = {(one.task, one.metric) for one in shown_tasks(settings)}
    published = Path(settings.resource("published/suite_baselines.tsv"))
    with published.open(encoding="utf-8", newline="") as file:
        found = [PublishedBaseline.of(row) for row in csv.DictReader(file, delimiter="\t")]
    protocol = read_protocols(Path(settings.resource("published/protocols.yaml")))["suite"]
    return tuple(
        one.model_copy(update={"protocol": protocol.of_its_own(one.name, one.task)})
        for one in found
        if (one.task, one.metric) in request
    )
