"""Build the parameters of the rules collect_scores and compare, with each harness's task names."""

from pathlib import Path
from typing import Any

from workflow_scripts.settings.import_folders import get_import_name, hash_imported_files
from workflow_scripts.settings.settings import Settings


def describe_tasks(settings: Settings) -> dict[str, Any]:
    """Return `names`, our name of each harness's tasks, and `tasks`, the metric and cluster columns of our tasks."""
    names: dict[str, dict[str, str]] = {}
    tasks = {}
    for row in settings.tasks.values():
        names.setdefault(row.harness, {})[row.harness_task] = row.task
        tasks[row.task] = {"metric": row.full_metric, "cluster": (row.cluster or "").split()}
    return {"names": names, "tasks": tasks}


def describe_imports(settings: Settings, study: str) -> dict[str, Any]:
    """Build the parameters of a study's import folders; a hash of their files reruns the job when one changes."""
    imports = settings.imports if study == "harmony" else ()
    folders = {get_import_name(folder): folder for folder in imports}
    return {
        "folders": folders,
        "stamps": list(map(hash_imported_files, folders.values())),
        "harness_tasks": describe_tasks(settings) if folders else {},
    }


def list_compared(settings: Settings) -> tuple[list[str], dict[str, str]]:
    """List the two names to compare and, if both are result folders, the hash of each folder's files."""
    names = (settings.compare or "").split()
    folders = [
        name for name in names if Path(name).is_dir() and not Path(name, "config.json").is_file()
    ]
    if len(folders) < 2:
        return names, {}
    return names, {name: hash_imported_files(name) for name in folders}
