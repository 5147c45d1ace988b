"""How numbers are written wherever people read them: one minus sign, one dash for what is not there.

A missing value becomes None, which the writer of tables shows as a dash.
"""

from collections.abc import Callable, Iterable

import pandas as pd

MINUS, INFINITY, DASH = "−", "∞", "—"


def number(value: float | None, spec: str = ".3f") -> str | None:
    """`spec` is Python's own format; a hyphen becomes a minus sign."""
    if pd.isna(value):
        return None
    return format(value, spec).replace("-", MINUS).replace("inf", INFINITY)


def numbers(values: Iterable[float | None], spec: str = ".3f") -> list[str | None]:
    return [number(value, spec) for value in values]


def shown(values: Iterable[float | None], show: Callable[[float], str | None]) -> list[str | None]:
    return [None if pd.isna(value) else show(value) for value in values]


def percents(values: Iterable[float | None], spec: str = ".1f") -> list[str | None]:
    """Shares of one in percent, without its sign."""
    return [None if pd.isna(value) else number(100 * value, spec) for value in values]


def with_errors(
    values: Iterable[float | None],
    errors: Iterable[float | None],
    show: Callable[[float], str | None] = number,
) -> list[str | None]:
    """`0.412 ± 0.013`; where no standard error is known, the value alone."""
    return [
        None
        if pd.isna(value)
        else f"{show(value)}" + ("" if pd.isna(error) else f" ± {show(error)}")
        for value, error in zip(values, errors, strict=True)
    ]


def intervals(
    lows: Iterable[float | None],
    highs: Iterable[float | None],
    show: Callable[[float], str | None] = number,
) -> list[str | None]:
    """`0.118 to 0.734`, or None where there is no interval."""
    return [
        None if pd.isna(low) or pd.isna(high) else f"{show(low)} to {show(high)}"
        for low, high in zip(lows, highs, strict=True)
    ]


def perplexity(value: float) -> str:
    """Four digits or so, whatever the size: an untrained plan's perplexity may be millions."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}" if value >= 1 else f"{value:.2f}"


def p_value(value: float | None, below: str = "below") -> str | None:
    return None if pd.isna(value) else f"{below} 0.001" if value < 0.001 else f"{value:.3f}"


def millisecond(seconds: float) -> str:
    return f"{1000 * seconds:.1f}"
