"""Describe to the tables and the page of the leaderboard its tasks, baselines, flags and rules."""

import csv
from pathlib import Path
from typing import Any

from workflow_scripts.settings.leaderboard_submissions import GENERATED
from workflow_scripts.settings.settings import Settings


def shown_tasks(settings: Settings) -> list[dict[str, Any]]:
    """List the suite's tasks, with the metric that each is ranked by and what readers know it as."""
    tasks = []
    for entry in settings.suite.tasks:
        row = settings.task(entry.task)
        metric = entry.metric or row.full_metric
        tasks.append(
            {
                "task": entry.task,
                "title": row.display_name,
                "shots": entry.shots,
                "metric": metric,
                "shown_as": entry.shown_as or metric,
                "max_items": entry.max_items or settings.suite.max_items,
            }
        )
    return tasks


def suite_tables(settings: Settings) -> dict[str, Any]:
    is_generated = settings.source == "miniature"  # one file of flags serves both sources
    flags = [
        flag.model_dump(mode="json")
        for flag in settings.flags
        if flag.model.startswith(GENERATED) == is_generated
    ]
    return {"tasks": shown_tasks(settings), "flags": flags}


def suite_page(settings: Settings) -> dict[str, Any]:
    """Describe the leaderboard's tab, and what its readers are told of its rules."""
    suite = settings.suite
    return {
        "tasks": shown_tasks(settings),
        "baselines": _read_baselines(settings),
        "requests": suite.requests,
        "flags": suite.flags,
        "memory_mb": suite.memory_mb,
        "open_licences": list(suite.open_licences),
        "on_gpu": settings.on_gpus,
    }


def _read_baselines(settings: Settings) -> list[dict[str, str]]:
    """Read those of tasks and metrics that the suite has; none is of generated questions."""
    if settings.source == "miniature":
        return []
    metrics = {(task["task"], task["metric"]) for task in shown_tasks(settings)}
    published = Path(settings.resource("published/suite_baselines.tsv"))
    with published.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return [row for row in rows if (row["task"], row["metric"]) in metrics]
