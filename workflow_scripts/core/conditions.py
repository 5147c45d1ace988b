"""Under which conditions a number was measured, where one record holds many of them."""

from pydantic import BaseModel, ConfigDict, Field


class Condition(BaseModel):
    """What was varied within one measurement; null is what was not."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    plan: str | None = Field(
        default=None, description="The chunk plan the model was run in; k0m0 is the unchanged one"
    )
    aggregation: str | None = Field(
        default=None, description="How the outputs of the plan's chunks became one"
    )
    difficulty: str | None = Field(default=None, description="Of the text that was read")
    way: str | None = Field(default=None, description="How chunks ran: unchanged, fused or loop")
    batch: int | None = Field(default=None, ge=1, description="Rows that ran at once")
    adapters: str | None = Field(
        default=None,
        description="Of the plan's layers: adapters, as wide as the model, or adapters64; null is none",
    )
    devices: int | None = Field(
        default=None,
        ge=2,
        description=(
            "Over how many the chunks were spread, or those of the plan that the unchanged model took"
            " turns with; null is one"
        ),
    )


CONDITIONS = tuple(Condition.model_fields)
