"""The records that the prompt runs measure."""

from workflow_scripts.settings.load import Settings
from workflow_scripts.studies.product import MeasuredStudy


def _records(settings: Settings) -> list[str]:
    return [
        f"results/records/prompts/prompt_run/{one.in_path}/{run}.json"
        for one in settings.prompt_checkpoints()
        for run in settings.prompt_runs
    ]


MEASURED = (
    MeasuredStudy("prompts", _records, lambda settings: settings.prompts.models, "prompts"),
)
