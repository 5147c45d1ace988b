"""Build the parameters of the ranking scripts from the config: a grid with its tasks, and the known models."""

from collections.abc import Iterable
from typing import Any, get_args

from workflow_scripts.settings.grids import GridFile, list_grid_files
from workflow_scripts.settings.harmony import Protocol, TaskRecipe
from workflow_scripts.settings.job_batches import list_study_tasks
from workflow_scripts.settings.settings import Settings

# The columns of the table of models that rankings use.
_MODEL_COLUMNS = {"model", "family", "parameters", "kind", "tokens_billion"}


class GridSettings(GridFile):
    """A grid with all its tasks: display name, the metric that tables report, and category."""

    task_names: dict[str, str]
    metrics: dict[str, str]
    task_categories: dict[str, str]


def list_model_rows(settings: Settings, source: str | None = None) -> list[dict[str, Any]]:
    """List the rows of the models table, optionally only those of one source."""
    rows = [row for row in settings.models.values() if source in (None, row.source)]
    return [row.model_dump(include=_MODEL_COLUMNS) for row in rows]


def list_shown_tasks(settings: Settings) -> list[dict[str, str]]:
    """List the study's tasks; without models to measure, all known tasks, for imported scores."""
    harmony = settings.harmony
    tasks = harmony.tasks if harmony.models else settings.tasks
    rows = [settings.tasks[task] for task in tasks]
    columns = {"task", "display_name", "category"}
    return [row.model_dump(include=columns) | {"metric": row.full_metric} for row in rows]


def read_grid_settings(settings: Settings, grid: GridFile) -> dict[str, Any]:
    """Build the parameters that every script of a grid gets, as plain values."""
    rows = settings.tasks.values()
    tasks: dict[str, tuple[str, str, str]]
    tasks = {row.task: (row.display_name, row.full_metric, row.category) for row in rows}
    tasks |= {task: (row.name, row.metric, "") for task, row in grid.tasks.items()}
    categories = grid.categories_by_task or {task: row[2] for task, row in tasks.items()}
    return grid.model_dump(mode="json") | {
        "task_names": {task: tasks[task][0] for task in categories},
        "metrics": {task: tasks[task][1] for task in categories},
        "task_categories": categories,
    }


def list_grid_sources(settings: Settings, grid: GridFile) -> dict[str, Any]:
    """List the input files of a grid by name."""
    if not grid.run:
        return list_grid_files(grid)
    published = ["published/harmony_leaderboard.csv", "published/harmony_cells.csv"]
    is_real = settings.source == "huggingface"  # training noise from the published releases
    return {
        "scores": ["results/scores/harmony.parquet"],
        "errors": "results/scores/harmony_errors.parquet",
        "imported": list(settings.harmony.imported_scores),
        "released": list(map(settings.find_resource, published)) if is_real else [],
        "correlations": settings.find_resource("published/items/correlations.csv"),
    }


def list_grid_models(settings: Settings, grid: GridFile) -> list[dict[str, Any]]:
    """List the known models of a grid as plain values; for imported grids only those of the Hugging Face hub."""
    return list_model_rows(settings, None if grid.run else "huggingface")


def list_outputs(tables: Iterable[Any], grid: str) -> list[str]:
    """List the output files of rules for a grid."""
    return [path.replace("{grid}", grid) for table in tables for path in table.output]


def list_requested_cells(settings: Settings, grid: GridFile) -> dict[str, dict[str, list[str]]]:
    """List by protocol the models and tasks that this run measures; empty for imported grids."""
    harmony = settings.harmony
    if not grid.run or not harmony.models:
        return {}
    return {
        protocol: {
            "models": list(harmony.models),
            "tasks": list(list_study_tasks(settings, "harmony", protocol)),
        }
        for protocol in get_args(Protocol)
        if protocol in harmony.protocols
    }


def choose_task_pair(settings: Settings, grid: GridFile) -> list[str]:
    """Choose two tasks; an empty list means the first two with scores, as imported scores may have other tasks."""
    harmony = settings.harmony
    return list(harmony.tasks[:2] if grid.run and harmony.models else grid.pair)


def count_training_tokens(settings: Settings) -> dict[str, float]:
    """Compute the training tokens of each task with the published recipe, regardless of the config's recipe."""
    max_items = TaskRecipe().max_training_items
    return {
        row.task: float(
            min(row.training_items, max_items or row.training_items) * row.training_tokens
        )
        for row in settings.work.values()
    }
