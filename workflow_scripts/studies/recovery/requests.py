"""What the recovery study is asked: its models, and the plans that each is cut into and trained back from."""

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.request import StepRequest
from workflow_scripts.studies.training.requests import measured_texts


class RecoveredCheckpoints(StepRequest):
    """In the order of the table, each model before what is made of it; and what they were measured on."""

    checkpoints: tuple[str, ...]
    measures: tuple[str, ...]


MMLU = "mmlu (likeliest letter)"


def recovered_ids(settings: Settings) -> list[CheckpointId]:
    """Each model as it is, its plans, and what became of them after so many tokens."""
    recovered = settings.recovered_checkpoints()
    return [
        one
        for model in (settings.chunking.models if recovered else ())
        for one in (CheckpointId(model), *(each for each in recovered if each.model == model))
    ]


def recovered_checkpoints(settings: Settings) -> RecoveredCheckpoints:
    names = [str(one) for one in recovered_ids(settings)]
    measures = [*measured_texts(settings), *settings.harmony.tasks, MMLU]
    return RecoveredCheckpoints(checkpoints=names, measures=measures)
