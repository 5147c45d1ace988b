"""Under which conditions a number was measured, where one record holds many of them."""

from pydantic import BaseModel, ConfigDict, Field


class Condition(BaseModel):
    """Conditions that were varied within one measurement; null is what was not."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    plan: str | None = None  # the chunk plan the model was run in; k0m0 is the unchanged one
    aggregation: str | None = None  # how the outputs of the plan's chunks became one
    difficulty: str | None = None  # of the text that was read
    way: str | None = None  # how chunks ran: unchanged, fused or loop
    batch: int | None = Field(None, ge=1)  # rows that ran at once
    # Of the plan's layers: adapters, as wide as the model, or adapters64; null is none.
    adapters: str | None = None
    # Over how many the chunks were spread, or those of the plan that the unchanged model took turns with;
    # null is one.
    devices: int | None = Field(None, ge=2)


CONDITIONS = tuple(Condition.model_fields)
