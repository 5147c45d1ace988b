"""Format numbers for readers, with a typographic minus sign."""

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
    """Format a number; a missing one becomes None."""
    return fixed(value, spec) if is_known(value) else None


def perplexity(value: float) -> str:
    """Format with about four digits at any size: an untrained chunk plan's perplexity may be millions."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}" if value >= 1 else f"{value:.2f}"


def format_p_value(value: float | None, below: str = "below") -> str | None:
    if not is_known(value):
        return None
    return f"{below} 0.001" if value < 0.001 else f"{value:.3f}"
