"""Define the schema of an imported measurement: model, task, scores and items."""

from typing import Any

from pydantic import Field, NonNegativeFloat, PositiveInt

from workflow_scripts.core.ids import build_local_name, describe_hub_name_problem
from workflow_scripts.core.items import Item
from workflow_scripts.core.records import ProtocolName, Score, StrictModel


class ImportedScore(Score):
    """A score of which only the name and the value must be known."""

    stderr: NonNegativeFloat | None = None
    n: PositiveInt | None = None
    best_constant: float | None = None
    chance: float | None = None


class ImportedCell(StrictModel):
    """The scores of one model on one task; null where the file has no value."""

    harness: str
    harness_version: str | None
    model: str
    variant: str = ""
    seed: int | None = None
    commit: str | None
    dtype: str | None
    task: str
    shots: int = Field(ge=0)
    protocol: ProtocolName = Field(
        default_factory=lambda fields: "few_shot" if fields["shots"] else "direct"
    )
    scores: tuple[ImportedScore, ...] = Field(min_length=1)


CellWithItems = tuple[ImportedCell, list[Item]]
# Our name of each task of a harness, by harness; the metric and clusters of each of our tasks.
TaskNames = dict[str, dict[str, str]]
TaskFields = dict[str, dict[str, Any]]


def get_model_name(name: str) -> str:
    """Return a model's hub name; for a local folder, build a name from its path."""
    return build_local_name(name) if describe_hub_name_problem(name) else name
