"""Give rule import_results the tasks of this config, by the names of each harness."""

from pathlib import Path
from typing import Any

from workflow_scripts.settings.imports import hash_imported_files
from workflow_scripts.settings.names import find_folder
from workflow_scripts.settings.settings import Settings


def import_request(settings: Settings, name: str) -> dict[str, Any]:
    """Return our name of each harness's task, and the metric and clusters of each of our tasks.

    The stamp of the folder's files makes Snakemake read them again when one changes.
    """
    names: dict[str, dict[str, str]] = {}
    for row in settings.tasks.values():
        # Of several rows for one task of a harness the first is meant, unless one has the harness's own name.
        by_harness = names.setdefault(row.harness, {})
        if row.task == row.harness_task or row.harness_task not in by_harness:
            by_harness[row.harness_task] = row.task
    folder, workflow_folder = settings.import_folders[name], Path(settings.workflow_folder)
    return {
        "name": name,
        "folder": str(find_folder(folder, workflow_folder) or folder),
        "stamp": hash_imported_files(folder, workflow_folder),
        "names": names,
        "tasks": {
            row.task: {"metric": row.full_metric, "cluster": (row.cluster or "").split()}
            for row in settings.tasks.values()
        },
    }
