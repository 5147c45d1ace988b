"""Build the parameters of the paper's tables, the report and the leaderboard page."""

from typing import Any

from workflow_scripts.settings.grids import OWN_GRID
from workflow_scripts.settings.mmlu import find_published_table
from workflow_scripts.settings.settings import Settings
from workflow_scripts.studies.prompts.requests import describe_comparison
from workflow_scripts.studies.ranking.grid_settings import list_model_rows, list_shown_tasks
from workflow_scripts.studies.suite.table_requests import describe_suite_page


def describe_leaderboard(settings: Settings, *, measures: bool) -> dict[str, Any]:
    """Build the parameters of the leaderboard page; `measures` is false if all scores are imported."""
    return {
        "source": settings.source if measures else None,
        "tasks": list_shown_tasks(settings),
        "protocols": dict(settings.grids[OWN_GRID].names),
        "suite": describe_suite_page(settings),
    }


def name_published_tables(settings: Settings) -> dict[str, str | None]:
    """Return for each evaluated checkpoint the published MMLU table of the same variant, or None."""
    return {
        str(checkpoint): find_published_table(checkpoint, settings.source)
        for checkpoint in settings.list_mmlu_checkpoints()
    }


def describe_comparisons(settings: Settings) -> dict[str, Any]:
    """Build the parameters that decide which published numbers can be compared with ours."""
    tables = name_published_tables(settings)
    comparison = {
        "source": settings.source,
        "models": list_model_rows(settings, "huggingface"),
        "mmlu": {table: checkpoint for checkpoint, table in tables.items() if table},
        "prompts": describe_comparison(settings),
    }
    return {"comparison": comparison, "margins": settings.margins.model_dump()}


def list_published_cells(settings: Settings) -> dict[str, Any]:
    """Return the MMLU checkpoints and the prompt runs that have published numbers."""
    return {
        "checkpoints": [name for name, table in name_published_tables(settings).items() if table],
        "runs": {ours: name for name, ours in describe_comparison(settings)["runs"].items()},
    }


def dump_shown_config(settings: Settings) -> dict[str, Any]:
    """Dump the config as read, without the rows of its tables."""
    left_out = {"models", "tasks", "grids", "prompt_runs", "explain"}
    return settings.model_dump(mode="json", exclude={*left_out, "compare"})
