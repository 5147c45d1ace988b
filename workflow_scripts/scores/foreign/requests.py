"""The parameters of rule import_results."""

from pathlib import Path

from pydantic import Field

from workflow_scripts.settings.imports import import_stamp
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.names import find_folder
from workflow_scripts.settings.request import StepRequest


class TaskHere(StepRequest):
    """A task as our tables have it."""

    metric: str
    shots: tuple[int, ...] = Field(
        description="With which this config asks it; none if it does not"
    )
    cluster: tuple[str, ...] = Field(description="Columns by which its items belong together")


class ImportRequest(StepRequest):
    """`names` has, by harness and its own name for a task, ours."""

    name: str
    folder: str
    stamp: str
    names: dict[str, dict[str, str]]
    tasks: dict[str, TaskHere]


def import_request(settings: Settings, name: str) -> ImportRequest:
    folder, here = settings.import_folders[name], Path(settings.workflow_folder)
    names: dict[str, dict[str, str]] = {}
    tasks: dict[str, TaskHere] = {}
    for row in settings.tasks.values():
        # Of several rows that ask the same the first is meant, unless one has the harness's own name.
        by_harness = names.setdefault(row.harness, {})
        if row.task == row.harness_task or row.harness_task not in by_harness:
            by_harness[row.harness_task] = row.task
        shots = {entry.shots for entry in settings.suite.tasks if entry.task == row.task}
        if row.task in settings.harmony.tasks:
            shots |= {0, settings.harmony.shots}
        tasks[row.task] = TaskHere(
            metric=row.full_metric,
            shots=tuple(sorted(shots)),
            cluster=tuple((row.cluster or "").split()),
        )
    return ImportRequest(
        name=name,
        folder=str(find_folder(folder, here) or folder),
        stamp=import_stamp(folder, here),
        names=names,
        tasks=tasks,
    )
