"""Run a function in a subprocess with time and memory limits.

The process is forked, so libraries are not imported again. Every failure in it becomes a `SandboxError`.
"""

import json
import multiprocessing
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workflow_scripts.core.clean_text import shorten_text

MAX_SECONDS, MAX_MEGABYTES = 60, 4_000


class SandboxError(Exception):
    """A function that did not return a result; the message says how it ended."""


def run_sandboxed(
    function: Callable[..., Any],
    *arguments: Any,
    seconds: int = MAX_SECONDS,
    megabytes: int = MAX_MEGABYTES,
) -> Any:
    """Run the function in a subprocess and return its result, converted to JSON and back."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def send_result() -> None:
        try:
            _limit_memory(megabytes)
            answer = {"result": function(*arguments)}
        except MemoryError:
            answer = {"problem": f"it took more than {megabytes:,} MB of memory"}
        except BaseException as error:  # untrusted files may raise anything, SystemExit too
            problem = f"{type(error).__name__}: {shorten_text(str(error))}".rstrip(".: ")
            answer = {"problem": problem}
        sender.send_bytes(json.dumps(answer).encode())

    process = context.Process(target=send_result, daemon=True)
    process.start()
    sender.close()
    try:
        if not receiver.poll(seconds):
            raise SandboxError(f"it took more than {seconds} seconds")
        # JSON, since unpickling could run code from the sandbox.
        answer = json.loads(receiver.recv_bytes())
    except EOFError:
        raise SandboxError("its process ended without an answer") from None
    finally:
        process.kill()
        process.join()
    if "problem" in answer:
        raise SandboxError(answer["problem"])
    return answer["result"]


def _limit_memory(megabytes: int) -> None:
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        limit = pages * resource.getpagesize() + megabytes * 10**6
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
