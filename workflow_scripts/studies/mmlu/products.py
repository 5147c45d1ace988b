"""The records that MMLU as published measures."""

from collections.abc import Iterable
from typing import Any

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.settings.load import Settings
from workflow_scripts.studies.product import MeasuredStudy


def _wanted(settings: Settings) -> Any:
    return settings.mmlu_checkpoints()


def answers_of(checkpoints: Iterable[CheckpointId]) -> list[str]:
    return [f"results/records/mmlu/few_shot/{one.in_path}/mmlu_helm.json" for one in checkpoints]


def _records(settings: Settings) -> list[str]:
    return answers_of(settings.mmlu_checkpoints())


MEASURED = (MeasuredStudy("mmlu", _records, _wanted, "mmlu"),)
