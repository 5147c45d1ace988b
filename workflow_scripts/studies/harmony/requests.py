"""By what the grid is compared with the published leaderboard."""

from pydantic import Field

from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.request import StepRequest


class PublishedModel(StepRequest):
    model: str
    family: str
    parameters: int


class HarmonyComparison(StepRequest):
    """What decides whether the published leaderboard can be compared with ours."""

    source: str
    models: tuple[PublishedModel, ...] = Field(
        (),
        description="Those of the hub that are known: how far they stray goes by family and size",
    )


def harmony_comparison(settings: Settings) -> HarmonyComparison:
    names = set(PublishedModel.model_fields)
    rows = [row for row in settings.models.values() if row.source == "huggingface"]
    return HarmonyComparison(
        source=settings.source,
        models=tuple(PublishedModel(**row.model_dump(include=names)) for row in rows),
    )
