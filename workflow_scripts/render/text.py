"""Format numbers for readers, with a typographic minus sign.

A missing value becomes None, which `write_table` shows as a dash.
"""

from collections.abc import Callable, Iterable
from typing import TypeGuard

import pandas as pd

MINUS, INFINITY, DASH = "−", "∞", "—"


def is_known(value: float | None) -> TypeGuard[float]:
    """Return whether a value is present: neither None nor NaN nor NA."""
    return not pd.isna(value)


def fixed(value: float, spec: str) -> str:
    """Format a present number by a Python format `spec`, with a minus sign instead of a hyphen."""
    return format(value, spec).replace("-", MINUS).replace("inf", INFINITY)


def number(value: float | None, spec: str = ".3f") -> str | None:
    return fixed(value, spec) if is_known(value) else None


def shown(values: Iterable[float | None], show: Callable[[float], str | None]) -> list[str | None]:
    """Format each present value with `show`; missing ones become None."""
    return [show(value) if is_known(value) else None for value in values]


def numbers(values: Iterable[float | None], spec: str = ".3f") -> list[str | None]:
    return [number(value, spec) for value in values]


def percents(values: Iterable[float | None], spec: str = ".1f") -> list[str | None]:
    """Format fractions in percent, without the percent sign."""
    return shown(values, lambda value: number(100 * value, spec))


def format_with_errors(
    values: Iterable[float | None],
    errors: Iterable[float | None],
    show: Callable[[float], str | None] = number,
) -> list[str | None]:
    """Format as `0.412 ± 0.013`, or only the value if its standard error is unknown."""
    return [
        f"{value} ± {error}" if value and error else value
        for value, error in zip(shown(values, show), shown(errors, show), strict=True)
    ]


def intervals(
    lows: Iterable[float | None],
    highs: Iterable[float | None],
    show: Callable[[float], str | None] = number,
) -> list[str | None]:
    """Format as `0.118 to 0.734`, or None if there is no interval."""
    return [
        f"{low} to {high}" if low and high else None
        for low, high in zip(shown(lows, show), shown(highs, show), strict=True)
    ]


def perplexity(value: float) -> str:
    """Format with about four digits at any size: an untrained chunk plan's perplexity may be millions."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}" if value >= 1 else f"{value:.2f}"


def format_p_value(value: float | None, below: str = "below") -> str | None:
    if not is_known(value):
        return None
    return f"{below} 0.001" if value < 0.001 else f"{value:.3f}"
