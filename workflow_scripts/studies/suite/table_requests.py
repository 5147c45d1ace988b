"""Build the parameters of the leaderboard's tables and page from the config: tasks, baselines, flags and rules."""

import csv
from pathlib import Path
from typing import Any

from workflow_scripts.settings.leaderboard_submissions import GENERATED
from workflow_scripts.settings.settings import Settings


def list_tasks(settings: Settings) -> list[dict[str, Any]]:
    """List the suite's tasks with their ranking metrics."""
    tasks = []
    for entry in settings.suite.tasks:
        row = settings.tasks[entry.task]
        metric = entry.metric or row.full_metric
        defaults = {"metric": metric, "shown_as": metric, "max_items": settings.suite.max_items}
        keys = entry.model_dump(mode="json", exclude_none=True)
        tasks.append({"title": row.display_name} | defaults | keys)
    return tasks


def describe_tables(settings: Settings) -> dict[str, Any]:
    """Return tasks and flags; one file holds the flags of both sources, real and miniature."""
    is_generated = settings.source == "miniature"
    flags = [flag.model_dump(mode="json") for flag in settings.flags]
    flags = [flag for flag in flags if flag["model"].startswith(GENERATED) == is_generated]
    return {"tasks": list_tasks(settings), "flags": flags}


def describe_suite_page(settings: Settings) -> dict[str, Any]:
    """Return the parameters of the leaderboard's tab and of its About page."""
    return {
        **settings.suite.model_dump(mode="json"),
        "tasks": list_tasks(settings),
        "baselines": _read_baselines(settings),
        "on_gpu": settings.on_gpus,
    }


def _read_baselines(settings: Settings) -> list[dict[str, str]]:
    """Read the published baselines of the suite's tasks and metrics; generated questions have none."""
    if settings.source == "miniature":
        return []
    metrics = {(task["task"], task["metric"]) for task in list_tasks(settings)}
    published = Path(settings.resource("published/suite_baselines.tsv"))
    with published.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return [row for row in rows if (row["task"], row["metric"]) in metrics]
