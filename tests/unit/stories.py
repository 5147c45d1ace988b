"""Select the numbers that the report's prose prints."""

from typing import Any

from workflow_scripts.render.numbers import Values, select_computed
from workflow_scripts.render.thresholds import MIN_CLEAR_Z


def make_story_numbers(values: dict[str, Any]) -> Values:
    return select_computed({"limit.clear": MIN_CLEAR_Z, **values})
