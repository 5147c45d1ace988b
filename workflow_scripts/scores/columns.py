"""Define the columns of tidy scores, one row per number."""

from typing import Any

from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.measurement_conditions import Condition
from workflow_scripts.core.records import Record

COLUMNS = {
    "study": "string",
    "model": "string",
    "variant": "string",
    "task": "string",
    "subset": "string",
    "protocol": "string",
    "shots": "Int64",
    "metric": "string",
    "value": "Float64",
    "stderr": "Float64",
    "n": "Int64",
    "seed": "Int64",
    "baseline": "Float64",
    "chance": "Float64",
    # Two rows of the leaderboard may differ only in dtype.
    "dtype": "string",
    "commit": "string",
    # Conditions that vary within one measurement.
    **{
        name: "Int64" if field.annotation == int | None else "string"
        for name, field in Condition.model_fields.items()
    },
}


def describe_record(record: Record) -> dict[str, Any]:
    """Return the columns that all scores of a record share."""
    checkpoint = CheckpointId.parse(record.model.id)
    return {
        "study": record.study,
        "model": checkpoint.model,
        "variant": checkpoint.variant,
        "task": record.task.name,
        "protocol": record.protocol.name,
        "shots": record.task.shots,
        "seed": record.protocol.seed,
        "dtype": record.protocol.dtype,
        "commit": record.model.commit,
    }
