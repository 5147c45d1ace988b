"""Run a function in a process of its own, with limits of time and memory and without network.

The process is a fork, so that libraries need not be imported again. Whatever happens in it is an answer.
"""

import ctypes
import json
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from workflow_scripts.core.clean_text import shortened

SECONDS, MEGABYTES = 60, 4_000
_STATM = Path("/proc/self/statm")  # of Linux
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000  # flags of unshare(2)


class SandboxError(Exception):
    """The function came to no end of its own; the message says how it ended."""


def run_sandboxed(
    function: Callable[..., Any],
    *arguments: Any,
    seconds: int = SECONDS,
    megabytes: int = MEGABYTES,
) -> Any:
    """Return what the function returns, as JSON has it."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(
        target=_answer, args=(sender, function, arguments, seconds, megabytes), daemon=True
    )
    process.start()
    sender.close()
    try:
        if not receiver.poll(seconds):
            raise SandboxError(f"it took more than {seconds} seconds")
        # JSON and no pickle, which could run what a stranger wrote.
        result, problem = json.loads(receiver.recv_bytes())
    except EOFError:
        process.join()
        raise SandboxError(f"its process ended with exit code {process.exitcode}") from None
    finally:
        process.kill()
        process.join()
    if problem:
        raise SandboxError(problem)
    return result


def _answer(
    sender: Connection,
    function: Callable[..., Any],
    arguments: tuple,
    seconds: int,
    megabytes: int,
) -> None:
    answer: tuple[Any, str | None]
    try:
        _cut_network()
        if _STATM.exists():
            pages = int(_STATM.read_text(encoding="ascii").split()[0])
            used = pages * resource.getpagesize()
            _limit(resource.RLIMIT_AS, used + megabytes * 10**6)
        _limit(resource.RLIMIT_CPU, int(time.process_time()) + seconds)
        _limit(resource.RLIMIT_CORE, 0)
        answer = function(*arguments), None
    except MemoryError:
        answer = None, f"it took more than {megabytes:,} MB of memory"
    except BaseException as error:  # a stranger's files may raise anything, SystemExit too
        answer = None, f"{type(error).__name__}: {shortened(str(error))}".rstrip(".: ")
    sender.send_bytes(json.dumps(answer).encode())


def _limit(kind: int, amount: int) -> None:
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(
        kind, (amount if hard == resource.RLIM_INFINITY else min(amount, hard), hard)
    )


def _cut_network() -> None:
    """Leave the network where the kernel lets a process do so; jobs are offline anyway."""
    if sys.platform == "linux":
        ctypes.CDLL(None).unshare(_NEW_USER | _NEW_NETWORK)
