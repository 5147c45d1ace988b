"""The columns of tidy scores, one row per number."""

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
    # What was varied within one measurement (core.conditions).
    "plan": "string",
    "aggregation": "string",
    "difficulty": "string",
    "way": "string",
    "batch": "Int64",
    "adapters": "string",
    "devices": "Int64",
    "precision": "string",
}
