"""What MMLU as published measures and has made."""

from collections.abc import Iterable
from typing import Any

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.settings.load import Settings
from workflow_scripts.studies.mmlu.requests import mmlu_checkpoints
from workflow_scripts.studies.product import MeasuredStudy, figure, products, published, table


def _wanted(settings: Settings) -> Any:
    return settings.mmlu_checkpoints()


def answers_of(checkpoints: Iterable[CheckpointId]) -> list[str]:
    return [f"results/records/mmlu/few_shot/{one.in_path}/mmlu_helm.json" for one in checkpoints]


def _records(settings: Settings) -> list[str]:
    return answers_of(settings.mmlu_checkpoints())


def _published(settings: Settings) -> list[str]:
    names = mmlu_checkpoints(settings).published
    return published(*(f"{name}.csv" for name in names))(settings)


MEASURED = (MeasuredStudy("mmlu", _records, _wanted, "mmlu"),)
PRODUCTS = products(
    "mmlu",
    table(
        "mmlu_by_subject",
        "MMLU by subject, beside floors and published scores.",
        "studies.mmlu.by_subject",
        inputs={
            "scores": "results/scores/mmlu.parquet",
            "published": _published,
        },
        request=mmlu_checkpoints,
        version=2,
    ),
    figure(
        "mmlu_by_subject",
        "MMLU by subject, above and below the floor.",
        "studies.mmlu.by_subject",
        caption=(
            "MMLU of each checkpoint by subject and metric: how far the score is from the floor,"
            " the better of answering at random and the best fixed answer. A dot marks what clears"
            " it by two standard errors of a model that is at the floor; of 57 subjects one or two"
            " do so by chance."
        ),
    ),
    wanted=_wanted,
    chapter="chunking",
    category="MMLU",
)
