"""Words and thresholds that all chapters share."""

CLEAR = 2  # a difference is reported as clear from this many standard errors on
LEVEL = 0.05  # significance level after Holm's correction


def joined(parts: list[str]) -> str:
    """Join parts as in English: `a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
