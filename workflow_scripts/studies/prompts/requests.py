"""Build the arguments of the tables of prompt runs: which models, and which runs."""

from typing import Any

from pydantic import Field

from workflow_scripts.settings.job_params import JobParams
from workflow_scripts.settings.prompts.section import has_published_scores
from workflow_scripts.settings.settings import Settings


class PromptComparison(JobParams):
    """What decides whether a published prompt run can be compared with ours."""

    source: str
    checkpoint: str | None = Field(description="It was asked what the published model was")
    max_items_per_subject: int | None
    runs: dict[str, str] = Field(description="Ours by the published ones")


def prompt_arguments(settings: Settings) -> dict[str, Any]:
    """Return the checkpoints, with whether the published scores may stand beside them, and the runs."""
    fields = ("changed", "after", "published")
    return {
        "checkpoints": {
            str(checkpoint): has_published_scores(checkpoint, settings.source)
            for checkpoint in settings.prompt_checkpoints()
        },
        "runs": [
            {"name": name, **{field: getattr(run, field) for field in fields}}
            for name, run in settings.prompt_runs.items()
        ],
    }


def prompt_comparison(settings: Settings) -> PromptComparison:
    checkpoints, runs = prompt_arguments(settings).values()
    return PromptComparison(
        source=settings.source,
        checkpoint=next((name for name, published in checkpoints.items() if published), None),
        max_items_per_subject=settings.prompts.max_items_per_subject,
        runs={run["published"]: run["name"] for run in runs if run["published"]},
    )
