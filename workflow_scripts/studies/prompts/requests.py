"""What the tables of the prompt runs are asked: which models, and which runs."""

from pydantic import Field

from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.prompts.section import has_published_scores
from workflow_scripts.settings.request import StepRequest


class AskedModel(StepRequest):
    id: str
    published: bool = Field(description="Whether the published scores may stand beside its own")


class AskedRun(StepRequest):
    name: str
    changed: str
    after: str | None = Field(description="The run that it is compared with")
    published: str | None = Field(description="What the published runs call it")


class PromptTables(StepRequest):
    checkpoints: tuple[AskedModel, ...]
    runs: tuple[AskedRun, ...]


class PromptComparison(StepRequest):
    """What decides whether a published prompt run can be compared with ours."""

    source: str
    checkpoint: str | None = Field(description="It was asked what the published model was")
    max_items_per_subject: int | None
    runs: dict[str, str] = Field(description="Ours by the published ones")


def prompt_tables(settings: Settings) -> PromptTables:
    return PromptTables(
        checkpoints=tuple(
            AskedModel(id=str(request), published=has_published_scores(request, settings.source))
            for request in settings.prompt_checkpoints()
        ),
        runs=tuple(
            AskedRun(name=name, changed=run.changed, after=run.after, published=run.published)
            for name, run in settings.prompt_runs.items()
        ),
    )


def prompt_comparison(settings: Settings) -> PromptComparison:
    request = prompt_tables(settings)
    return PromptComparison(
        source=settings.source,
        checkpoint=next((one.id for one in request.checkpoints if one.published), None),
        max_items_per_subject=settings.prompts.max_items_per_subject,
        runs={run.published: run.name for run in request.runs if run.published},
    )
