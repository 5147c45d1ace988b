"""Hours, days and gigabytes as a person says them."""

HOUR, GB = 3_600, 1_000  # seconds, and MB


def hours(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 0.1 else f"{value:.2f}"


def clock(value: float) -> str:
    """Hours as a person says them."""
    minutes = round(value * 60)
    if minutes < 1:
        return f"{round(value * HOUR)} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d}"


def gigabytes(value: float) -> str:
    return f"{value:,.0f} GB" if value >= 10 else f"{value:.1f} GB" if value >= 0.1 else "-"


def days(value: float) -> str:
    return f"{value / 24:,.0f} days" if value >= 72 else clock(value)
