"""Define the condition of a metric, for records that measure the same model under several conditions."""

from pydantic import BaseModel, ConfigDict, Field


class Condition(BaseModel):
    """Conditions that one measurement varies; null is a condition that it does not vary."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    plan: str | None = None  # chunk plan; k0m0 is the unchanged model
    aggregation: str | None = None  # how the outputs of the chunks are combined
    difficulty: str | None = None  # of the text
    way: str | None = None  # how chunks ran: unchanged, fused or loop
    batch: int | None = Field(None, ge=1)  # rows per forward pass
    # Adapters of the plan's layers: adapters (width of the model), adapters64 (width 64), or null (none).
    adapters: str | None = None
    # Number of devices that the chunks are spread over; null is one. The unchanged model has the number of the plan
    # that it is compared with.
    devices: int | None = Field(None, ge=2)


CONDITIONS = tuple(Condition.model_fields)
