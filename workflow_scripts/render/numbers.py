"""Named numbers for the report's text, so that every number in it is computed and none is typed."""

import re
from collections.abc import Callable
from typing import Any

from workflow_scripts.render import text
from workflow_scripts.render.frames import plain

PLACE = re.compile(r"\{([a-z][a-z0-9_.]*(?::[^{}\s]+)?)\}")
Values = dict[str, Any]  # by name; None or NaN if a number could not be computed


def select_computed(values: Values) -> Values:
    """Select the values that could be computed, as plain Python values."""
    cells = {name: plain(value) for name, value in values.items()}
    return {name: value for name, value in cells.items() if value is not None}


def fill(sentence: str, show: Callable[[str], str], escape: Callable[[str], str] = str) -> str:
    """Fill a sentence: replace each {name:format} by `show` of it, and apply `escape` to the text between."""
    parts = PLACE.split(sentence)
    return "".join(show(part) if at % 2 else escape(part) for at, part in enumerate(parts))


def format_percent(value: float) -> str:
    """Format as a percentage without decimals, or with one where rounding would give 0% or 100% wrongly."""
    digits = 1 if f"{100 * value:.0f}" in ("0", "100") and value not in (0, 1) else 0
    return f"{100 * value:.{digits}f}%"


# Named formats; an empty format prints text, and any other is a Python format such as .2f.
_FORMATS: dict[str, Callable[[Any], str]] = {
    "": str,
    "count": "{:,.0f}".format,
    "percent": format_percent,
    "perplexity": text.perplexity,
    "points": lambda share: text.fixed(100 * share, ".1f"),
}


def format_number(place: str, values: Values) -> str:
    """Format the number of a placeholder `name:format`, such as `harmony.models:count`."""
    name, _, kind = place.partition(":")
    return _FORMATS[kind](values[name]) if kind in _FORMATS else text.fixed(values[name], kind)
