"""What training measures and has made: a table of its stages, and their curves."""

from collections.abc import Iterable

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.plan_measures import MEASURED_TEXTS
from workflow_scripts.studies.product import MeasuredStudy, figure, products, table
from workflow_scripts.studies.training.requests import compared_checkpoints


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
PRODUCTS = products(
    "training",
    table(
        "training_stages",
        "Perplexity after each stage of training, and what the stage trained.",
        "studies.training.stages",
        inputs={"scores": "results/scores/training.parquet", "records": training_records},
        request=compared_checkpoints,
    ),
    figure(
        "training_curves",
        "Loss of each stage of training.",
        "studies.training.curves",
        inputs={"records": training_records},
        version=2,
        caption=(
            "The loss of each optimiser step (thin) and of the held-out samples (dots), in nats"
            " per counted token: one panel a stage, one colour a chunk plan or model. With the"
            " usual recipes the first stage is continued pre-training on wikitext and the second"
            " fine-tuning on conversations. What distillation adds to the loss of a step is not in"
            " that of the held-out samples."
        ),
    ),
    wanted=training_records,
    chapter="chunking",
)
