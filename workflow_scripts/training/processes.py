"""Describe this process among those that train together, as torchrun's environment says; a single one is the first."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

# Slurm sends SIGUSR1 ahead of the time limit where the profile asks for it, and SIGTERM at preemption; so do people
# and machines that shut down.
SIGNALS = (signal.SIGTERM, signal.SIGUSR1)


def count_processes() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))


def get_rank() -> int:
    return int(os.environ.get("RANK", "0"))


def run_first_alone(device: str) -> AbstractContextManager:
    """Let the first process go through the block before the others enter it."""
    if count_processes() == 1:
        return nullcontext()
    from accelerate import PartialState

    return PartialState(cpu=device == "cpu").main_process_first()


@contextmanager
def handle_signals(handler: Callable) -> Iterator[None]:
    previous = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, action in previous.items():
            signal.signal(number, action)
