"""How large the generated world is."""

from pydantic import Field

from workflow_scripts.settings.request import StepRequest
from workflow_scripts.settings.section import Section


class Miniature(Section):
    items: int = Field(200, ge=1, description="Test items of each generated task.")
    effort: float = Field(
        1.0,
        gt=0,
        description="Factor on the training steps of the generated models; below 1 they learn less.",
    )


class WorldRequest(StepRequest):
    seed: int
    items: int


class MiniatureModelRequest(StepRequest):
    name: str
    seed: int
    effort: float


class FaultyModelsRequest(StepRequest):
    seed: int
