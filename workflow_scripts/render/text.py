"""How numbers are written wherever people read them: one minus sign, one dash for what is not there.

A missing value becomes None, which the writer of tables shows as a dash.
"""

from collections.abc import Callable, Iterable
from typing import TypeGuard

import pandas as pd

MINUS, INFINITY, DASH = "−", "∞", "—"


def is_known(value: float | None) -> TypeGuard[float]:
    """Whether it is there: neither None nor one of pandas's and numpy's ways to say so."""
    return not pd.isna(value)


def number(value: float | None, spec: str = ".3f") -> str | None:
    """`spec` is Python's own format; a hyphen becomes a minus sign."""
    if not is_known(value):
        return None
    return fixed(value, spec)


def fixed(value: float, spec: str) -> str:
    """A number that is there."""
    return format(value, spec).replace("-", MINUS).replace("inf", INFINITY)


def numbers(values: Iterable[float | None], spec: str = ".3f") -> list[str | None]:
    return [number(value, spec) for value in values]


def shown(values: Iterable[float | None], show: Callable[[float], str | None]) -> list[str | None]:
    return [show(value) if is_known(value) else None for value in values]


def percents(values: Iterable[float | None], spec: str = ".1f") -> list[str | None]:
    """Shares of one in percent, without its sign."""
    return [number(100 * value, spec) if is_known(value) else None for value in values]


def format_with_errors(
    values: Iterable[float | None],
    errors: Iterable[float | None],
    show: Callable[[float], str | None] = number,
) -> list[str | None]:
    """`0.412 ± 0.013`; where no standard error is known, the value alone."""
    return [
        f"{show(value)}" + (f" ± {show(error)}" if is_known(error) else "")
        if is_known(value)
        else None
        for value, error in zip(values, errors, strict=True)
    ]


def intervals(
    lows: Iterable[float | None],
    highs: Iterable[float | None],
    show: Callable[[float], str | None] = number,
) -> list[str | None]:
    """`0.118 to 0.734`, or None where there is no interval."""
    return [
        f"{show(low)} to {show(high)}" if is_known(low) and is_known(high) else None
        for low, high in zip(lows, highs, strict=True)
    ]


def perplexity(value: float) -> str:
    """Four digits or so, whatever the size: an untrained plan's perplexity may be millions."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}" if value >= 1 else f"{value:.2f}"


def p_value(value: float | None, below: str = "below") -> str | None:
    if not is_known(value):
        return None
    return f"{below} 0.001" if value < 0.001 else f"{value:.3f}"


def millisecond(seconds: float) -> str:
    return f"{1000 * seconds:.1f}"
