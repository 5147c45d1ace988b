"""What the tables of the leaderboard are asked: its tasks, and which rows are marked."""

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


class SuiteBoard(StepRequest):
    tasks: tuple[ShownTask, ...]
    shown_items: int


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


def suite_board(settings: Settings) -> SuiteBoard:
    return SuiteBoard(tasks=shown_tasks(settings), shown_items=settings.suite.shown_items)
