"""Work that runs side by side, on a thread for each device: a GPU, or a share of the processor's threads.

PyTorch keeps a thread's modes and its streams to that thread, so each piece of work takes them along.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from functools import cache

import torch
from torch import Tensor

Piece = Callable[[], Tensor]


def side_by_side(works: Sequence[Piece], devices: Sequence[torch.device]) -> list[Tensor]:
    """What each gives, in their order; the first of the devices is that of the caller's tensors.

    On a processor all of them together take as many threads as the caller has.
    """
    share = None
    if any(device.type == "cpu" for device in devices):
        share = max(1, torch.get_num_threads() // len(works))
    done = [
        _worker(at, share).submit(_as_here(work, {devices[0], device}, device))
        for at, (work, device) in enumerate(zip(works, devices, strict=True))
    ]
    wait(done)  # for all: where one has failed, none may still write into the cache
    return [one.result() for one in done]


@cache
def _worker(number: int, threads: int | None) -> ThreadPoolExecutor:
    """One thread. It outlives the models that it works for, so that these can be copied and saved."""
    worker = ThreadPoolExecutor(1, thread_name_prefix=f"chunks-{number}")
    if threads is not None:
        whole = torch.get_num_threads()
        worker.submit(_take, threads).result()
        torch.set_num_threads(whole)  # which later threads begin with
    return worker


def _take(threads: int) -> None:
    torch.get_num_threads()  # the first call of a thread sets the number that all begin with
    torch.set_num_threads(threads)


def _as_here(work: Piece, devices: set[torch.device], own: torch.device) -> Piece:
    """The work in the modes and the streams of the thread that asks for it."""
    inference, gradients = torch.is_inference_mode_enabled(), torch.is_grad_enabled()
    kind = own.type
    autocasts = kind != "meta" and torch.is_autocast_enabled(kind)
    dtype = torch.get_autocast_dtype(kind) if autocasts else None
    # The work's own device last: it becomes the thread's current one.
    streams = [
        torch.cuda.current_stream(device)
        for device in sorted(devices, key=lambda device: device == own)
        if device.type == "cuda"
    ]

    def run() -> Tensor:
        with ExitStack() as modes:
            modes.enter_context(torch.inference_mode(inference))
            modes.enter_context(torch.set_grad_enabled(gradients))
            if autocasts:
                modes.enter_context(torch.autocast(kind, dtype))
            for stream in streams:
                modes.enter_context(torch.cuda.stream(stream))
            return work()

    return run
