"""The records that training measures."""

from collections.abc import Iterable

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.plan_measures import MEASURED_TEXTS
from workflow_scripts.studies.product import MeasuredStudy


def trainings_of(checkpoints: Iterable[CheckpointId]) -> list[str]:
    """What trained those of them that were trained, and how."""
    return [f"results/training/{one.in_path}.json" for one in checkpoints if one.stages]


def perplexities_of(checkpoints: Iterable[CheckpointId]) -> list[str]:
    return [
        f"results/records/training/perplexity/{one.in_path}/{text}.json"
        for one in checkpoints
        for text in MEASURED_TEXTS
    ]


def training_records(settings: Settings) -> list[str]:
    """Of each checkpoint that is trained, beside the measures of perplexity after it."""
    return trainings_of(settings.compared_checkpoints())


def mmlu_trainings(settings: Settings) -> list[str]:
    """What trained the checkpoints that MMLU is asked of."""
    return trainings_of(settings.mmlu_checkpoints())


def _perplexity_records(settings: Settings) -> list[str]:
    return perplexities_of(settings.compared_checkpoints())


MEASURED = (MeasuredStudy("training", _perplexity_records, training_records, "training"),)
