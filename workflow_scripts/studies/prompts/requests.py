"""Collect from the config what the tables of prompt runs need: the checkpoints and the runs."""

from typing import Any

from workflow_scripts.settings.prompts.section import PUBLISHED_MODEL
from workflow_scripts.settings.settings import Settings


def describe_prompt_runs(settings: Settings) -> dict[str, Any]:
    """Return the runs, and for each checkpoint whether published scores are shown next to it.

    The miniature world shows them too, although they are of another model.
    """
    fields = ("changed", "after", "published")
    return {
        "checkpoints": {
            str(checkpoint): settings.source == "miniature" or str(checkpoint) == PUBLISHED_MODEL
            for checkpoint in settings.list_prompt_checkpoints()
        },
        "runs": [
            {"name": name, **{field: getattr(run, field) for field in fields}}
            for name, run in settings.prompt_runs.items()
        ],
    }


def describe_comparison(settings: Settings) -> dict[str, Any]:
    """Return our checkpoint and runs that have published counterparts; the runs are by published run."""
    checkpoints = describe_prompt_runs(settings)["checkpoints"]
    names = [name for name, is_published in checkpoints.items() if is_published]
    return {
        "checkpoint": next(iter(names), None),
        "runs": {
            run.published: name for name, run in settings.prompt_runs.items() if run.published
        },
    }
