"""Named numbers for the report's text, so that every number in it is computed and none is typed."""

from collections.abc import Callable
from typing import Any

import pandas as pd

from workflow_scripts.render import text
from workflow_scripts.render.frames import convert_value

Values = dict[str, Any]  # by name; None or NaN if a number could not be computed
# The functions that compute a chapter's numbers, each by the table that it reads.
NumberFunctions = dict[str, Callable[[pd.DataFrame], Values]]


def select_computed(values: Values) -> Values:
    """Select the values that could be computed, as plain Python values."""
    converted = {name: convert_value(value) for name, value in values.items()}
    return {name: value for name, value in converted.items() if value is not None}


# The filters of a chapter's template, and formats of a table's cells; `fixed` takes a Python format such as ".2f".
FORMATS: dict[str, Callable[..., str]] = {
    "count": "{:,.0f}".format,
    "fixed": text.format_fixed,
    "milliseconds": lambda seconds: f"{1000 * seconds:.1f}",
    "percent": lambda fraction: f"{100 * fraction:.3g}%",
    "p_value": text.format_p_value,
    "perplexity": text.format_perplexity,
}
