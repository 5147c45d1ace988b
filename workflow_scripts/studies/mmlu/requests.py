"""What the tables of MMLU are asked, and by what they are compared with the published."""

from pydantic import Field

from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.mmlu import published_table
from workflow_scripts.settings.request import StepRequest


class PublishedCheckpoint(StepRequest):
    id: str
    published: str | None  # the table in resources/published that is of the same variant


class MmluCheckpoints(StepRequest):
    checkpoints: tuple[PublishedCheckpoint, ...]

    @property
    def published(self) -> dict[str, str]:
        """The checkpoint of each published table."""
        return {one.published: one.id for one in self.checkpoints if one.published}


class MmluComparison(StepRequest):
    """What decides whether a published score on MMLU can be compared with ours."""

    source: str
    checkpoints: dict[str, str] = Field(description="Those of its variant, by published table")


def mmlu_checkpoints(settings: Settings) -> MmluCheckpoints:
    return MmluCheckpoints(
        checkpoints=[
            {"id": str(one), "published": published_table(one, settings.source)}
            for one in settings.mmlu_checkpoints()
        ]
    )
