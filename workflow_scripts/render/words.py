"""Words and thresholds that all the stories share."""

CLEAR = (
    2  # standard errors from the baseline, or from each other, from which on something was shown
)
LEVEL = 0.05  # of significance, after Holm's correction


def joined(parts: list[str]) -> str:
    """One, two and three: `a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
