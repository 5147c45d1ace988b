"""What the reading of a folder of other people's results is asked."""

from pathlib import Path

from workflow_scripts.settings.imports import import_stamp
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.names import find_folder
from workflow_scripts.settings.request import StepRequest


class ImportRequest(StepRequest):
    """`names` has, by harness and its own name for a task, ours; by ours, `metrics` has the metric that tables
    report, and `clusters` the columns of the data by which items belong together.
    """

    name: str
    folder: str
    stamp: str
    names: dict[str, dict[str, str]]
    metrics: dict[str, str]
    clusters: dict[str, tuple[str, ...]]


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
        metrics={task: row.full_metric for task, row in settings.tasks.items()},
        clusters={
            task: tuple(row.cluster.split()) for task, row in settings.tasks.items() if row.cluster
        },
    )
