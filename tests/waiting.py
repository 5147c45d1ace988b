"""Waiting for something to come about, and saying what did not."""

import time
from collections.abc import Callable

PATIENCE = 240.0  # seconds, of a machine that others use too


def wait_until(condition: Callable[[], object], what: str, patience: float = PATIENCE) -> object:
    """Wait for something true and give it back."""
    end = time.monotonic() + patience
    while not (value := condition()):
        assert time.monotonic() < end, f"waited {patience:g} s in vain until {what}"
        time.sleep(0.05)
    return value
