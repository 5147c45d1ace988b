"""Give rule import_results what this config says of a folder of other people's results."""

from pathlib import Path
from typing import Any

from workflow_scripts.settings.imports import hash_imported_files
from workflow_scripts.settings.names import find_folder
from workflow_scripts.settings.settings import Settings


def import_request(settings: Settings, name: str) -> dict[str, Any]:
    """Return our name of each harness's task, and of each task its metric, clusters and shots in this config.

    The stamp of the folder's files makes Snakemake read them again when one changes.
    """
    names: dict[str, dict[str, str]] = {}
    tasks = {}
    for row in settings.tasks.values():
        # Of several rows that ask the same the first is meant, unless one has the harness's own name.
        by_harness = names.setdefault(row.harness, {})
        if row.task == row.harness_task or row.harness_task not in by_harness:
            by_harness[row.harness_task] = row.task
        shots = {entry.shots for entry in settings.suite.tasks if entry.task == row.task}
        if row.task in settings.harmony.tasks:
            shots |= {0, settings.harmony.shots}
        cluster = (row.cluster or "").split()
        tasks[row.task] = {
            "metric": row.full_metric,
            "shots": sorted(shots),
            "cluster": cluster,
        }
    folder, here = settings.import_folders[name], Path(settings.workflow_folder)
    return {
        "name": name,
        "folder": str(find_folder(folder, here) or folder),
        "stamp": hash_imported_files(folder, here),
        "names": names,
        "tasks": tasks,
    }
