"""What the reading of a folder of other people's results is asked."""

from pathlib import Path

from pydantic import Field

from workflow_scripts.settings.imports import import_stamp
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.names import find_folder
from workflow_scripts.settings.request import StepRequest
from workflow_scripts.settings.tables import TaskRow


class TaskHere(StepRequest):
    """A task as we know it, beside which others' are held; the first metric is the one of the table of tasks."""

    harness_task: str
    dataset: str
    subset: str | None
    metrics: tuple[str, ...]
    shots: tuple[int, ...] = Field(
        description="With which this config asks it; none if it does not"
    )
    cluster: tuple[str, ...] = Field(
        description="Columns of its data by which items belong together"
    )


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
    for row in settings.tasks.values():
        # Of several rows that ask the same the first is meant, unless one has the harness's own name.
        of_harness = names.setdefault(row.harness, {})
        if row.task == row.harness_task or row.harness_task not in of_harness:
            of_harness[row.harness_task] = row.task
    return ImportRequest(
        name=name,
        folder=str(find_folder(folder, here) or folder),
        stamp=import_stamp(folder, here),
        names=names,
        tasks={task: _task_here(settings, row) for task, row in settings.tasks.items()},
    )


def _task_here(settings: Settings, row: TaskRow) -> TaskHere:
    harmony = settings.harmony
    of_suite = [one for one in settings.suite.tasks if one.task == row.task]
    shots = {one.shots for one in of_suite}
    if row.task in harmony.tasks:
        shots |= {0} | ({harmony.shots} if "few_shot" in harmony.protocols else set())
    return TaskHere(
        harness_task=row.harness_task,
        dataset=row.dataset,
        subset=row.subset,
        metrics=tuple(dict.fromkeys([row.full_metric, *(m.metric for m in of_suite if m.metric)])),
        shots=tuple(sorted(shots)),
        cluster=tuple((row.cluster or "").split()),
    )
