"""Build the parameters for comparing the grid with the published leaderboard."""

from workflow_scripts.scores.foreign.cells import KnownModel
from workflow_scripts.settings.job_params import JobParams
from workflow_scripts.settings.settings import Settings
from workflow_scripts.studies.ranking.grid_settings import list_model_rows


class HarmonyComparison(JobParams):
    """Parameters that decide whether the published leaderboard can be compared with ours."""

    source: str
    models: tuple[KnownModel, ...] = ()
    """Known models of the hub; their family and size determine the retraining noise"""


def describe_comparison(settings: Settings) -> HarmonyComparison:
    models = list_model_rows(settings, "huggingface")
    return HarmonyComparison(source=settings.source, models=models)
