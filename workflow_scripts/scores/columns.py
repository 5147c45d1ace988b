"""The columns of tidy scores, one row per number."""

from workflow_scripts.core.measurement_conditions import Condition

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
    "floor": "Float64",
    "chance": "Float64",
    # Two rows of the leaderboard may differ in nothing else.
    "dtype": "string",
    "commit": "string",
    # What was varied within one measurement.
    **{
        name: "Int64" if about.annotation == int | None else "string"
        for name, about in Condition.model_fields.items()
    },
}
