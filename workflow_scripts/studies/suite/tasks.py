"""List the tasks of the leaderboard's suite for its tables and page."""

from typing import Any

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
