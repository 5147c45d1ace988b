"""The grid of models and tasks that are ranked, before and after training on each task."""

from typing import Annotated

from pydantic import Field

from workflow_scripts.settings.names import CsvFile, LmEvalTaskName, ModelName
from workflow_scripts.settings.section import Section


class Harmony(Section):
    models: Annotated[tuple[ModelName, ...], Field(strict=False)] = Field(
        ("miniature/Llama-1.4M", "miniature/Pythia-0.1M"),
        min_length=1,
        description="Models to rank, by their name in the models table.",
    )
    tasks: Annotated[tuple[LmEvalTaskName, ...], Field(strict=False)] = Field(
        ("mnli", "arc_easy"),
        min_length=1,
        description=(
            "Tasks to rank them on, by their name in the tasks table. Those without a training split"
            " are measured directly only."
        ),
    )
    max_test_items: int | None = Field(
        10_000,
        ge=1,
        description="Test items of a task, taken in a seeded order; null takes all of them.",
    )
    shots: int = Field(0, ge=0, description="Worked examples in front of each test item.")
    imported_scores: Annotated[tuple[CsvFile, ...], Field(strict=False)] = Field(
        (),
        description=(
            "CSV files of other people's scores to rank beside ours: columns model, task, protocol"
            " (direct, few_shot or train_before_test), metric, value and, where known, stderr, n and"
            " unit (fraction or percent); resources/published/harmony_leaderboard.csv is read as it"
            " is."
        ),
    )
    bootstrap_draws: int = Field(
        1000, ge=10, description="Draws behind each interval of agreement, components and ranks."
    )
