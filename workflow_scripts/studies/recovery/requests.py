"""What the recovery study is asked: its models, and the plans that each is cut into and trained back from."""

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.plan_measures import MEASURED_TEXTS
from workflow_scripts.settings.request import StepRequest
from workflow_scripts.studies.training.requests import measured_texts


class RecoveredCheckpoints(StepRequest):
    """In the order of the table, each model before what is made of it; and what they were measured on."""

    checkpoints: tuple[str, ...]
    measures: tuple[str, ...]


MMLU = "mmlu (likeliest letter)"


def recovered_ids(settings: Settings) -> list[CheckpointId]:
    """Each model as it is, its plans, and what became of them after so many tokens.

    Untrained, a plan is the same whatever it is to learn from, so that it is measured once.
    """
    recovered = settings.recovered_checkpoints()
    untrained = {one.shape: one for one in reversed(recovered) if not one.stages}
    recovered = [one for one in recovered if one.stages or untrained[one.shape] == one]
    return [
        one
        for model in (settings.chunking.models if recovered else ())
        for one in (CheckpointId(model), *(each for each in recovered if each.model == model))
    ]


def recovered_checkpoints(settings: Settings) -> RecoveredCheckpoints:
    names = [str(one) for one in recovered_ids(settings)]
    tasks = [measure_of(task) for task in settings.harmony.tasks]
    measures = [*measured_texts(settings), *tasks, MMLU]
    return RecoveredCheckpoints(checkpoints=names, measures=measures)


def measure_of(task: str) -> str:
    """What a task is called in the table: not as a text that is measured beside it."""
    return f"{task} (task)" if task in MEASURED_TEXTS else task
