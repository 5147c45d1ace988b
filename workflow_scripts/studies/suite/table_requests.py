"""What the tables and the page of the leaderboard are made with: its tasks, baselines, flags and rules."""

import csv
from pathlib import Path

from pydantic import Field

from workflow_scripts.settings.flags import Flag
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.request import StepRequest


class ShownTask(StepRequest):
    task: str
    title: str
    shots: int
    metric: str
    shown_as: str = Field(description="What readers know the metric as")


class SuiteTables(StepRequest):
    tasks: tuple[ShownTask, ...]
    flags: tuple[Flag, ...] = ()
    source: str = "huggingface"


class SuitePage(StepRequest):
    """The leaderboard's tab, and what its readers are told of its rules."""

    tasks: tuple[ShownTask, ...]
    baselines: tuple[dict[str, str], ...] = Field(description="Rows of suite_baselines.tsv")
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
    return SuiteTables(tasks=shown_tasks(settings), flags=settings.flags, source=settings.source)


def suite_page(settings: Settings) -> SuitePage:
    suite = settings.suite
    return SuitePage(
        tasks=shown_tasks(settings),
        baselines=_read_baselines(settings),
        max_items={one.task: one.max_items or suite.max_items for one in suite.tasks},
        requests=suite.requests,
        flags=suite.flags,
        memory_mb=suite.memory_mb,
        open_licences=suite.open_licences,
        on_gpu=settings.on_gpus,
    )


def _read_baselines(settings: Settings) -> tuple[dict[str, str], ...]:
    """Read those of tasks and metrics that the suite has; none is of generated questions."""
    if settings.source == "miniature":
        return ()
    asked = {(task.task, task.metric) for task in shown_tasks(settings)}
    published = Path(settings.resource("published/suite_baselines.tsv"))
    with published.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return tuple(row for row in rows if (row["task"], row["metric"]) in asked)
