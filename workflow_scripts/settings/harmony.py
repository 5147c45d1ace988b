"""The grid of models and tasks that are ranked, before and after training on each task."""

from typing import Annotated

from pydantic import Field

from workflow_scripts.settings.names import LmEvalTaskName, ModelName
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
