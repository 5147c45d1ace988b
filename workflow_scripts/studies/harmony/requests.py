"""Describe by what the grid is compared with the published leaderboard."""

from pydantic import Field

from workflow_scripts.scores.foreign.cells import KnownModel
from workflow_scripts.settings.job_params import JobParams
from workflow_scripts.settings.settings import Settings
from workflow_scripts.studies.ranking.grid_settings import list_known_models


class HarmonyComparison(JobParams):
    """Hold what decides whether the published leaderboard can be compared with ours."""

    source: str
    margin: float = Field(description="Within which the difference of two scores does not matter")
    models: tuple[KnownModel, ...] = Field(
        (),
        description="Those of the hub that are known: how far they stray goes by family and size",
    )


def harmony_comparison(settings: Settings) -> HarmonyComparison:
    return HarmonyComparison(
        source=settings.source,
        margin=settings.margins.scores,
        models=list_known_models(settings, "huggingface"),
    )
