"""Wait for a condition, and fail with its description."""

import time
from collections.abc import Callable

PATIENCE = 240.0  # seconds, long enough for a busy machine


def wait_until(condition: Callable[[], object], what: str, patience: float = PATIENCE) -> object:
    """Wait until `condition()` is true, and return its value."""
    end = time.monotonic() + patience
    while not (value := condition()):
        assert time.monotonic() < end, f"waited {patience:g} s in vain until {what}"
        time.sleep(0.05)
    return value
