"""Format numbers for readers, with a typographic minus sign."""

MINUS, INFINITY, DASH = "−", "∞", "—"


def format_fixed(value: float, spec: str) -> str:
    """Format a present number by a Python format `spec`, with a minus sign instead of a hyphen."""
    return format(value, spec).replace("-", MINUS).replace("inf", INFINITY)


def format_perplexity(value: float) -> str:
    """Format with about four digits at any size: an untrained chunk plan's perplexity may be millions."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}" if value >= 1 else f"{value:.2f}"


def format_p_value(value: float) -> str:
    return "below 0.001" if value < 0.001 else f"{value:.3f}"
