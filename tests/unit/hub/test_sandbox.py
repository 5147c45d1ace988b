"""What runs in the sandbox ends alone: by time, memory, death or whatever it raises."""

import os
import socket
import sys
import time

import psutil
import pytest

from workflow_scripts.hub.sandbox import SandboxError, run_sandboxed


def misbehave(kind: str):
    match kind:
        case "busy":
            while True:
                pass
        case "asleep":
            time.sleep(1_000)
        case "large":
            return len([bytearray(10**6) for _ in range(10**6)])
        case "gone":
            os._exit(3)
        case "left":
            sys.exit("bye")
        case "raised":
            raise KeyError("\x1b[2J" + "x" * 5_000)
        case "deep":
            return misbehave(kind)
        case "odd":
            return object()
        case "network":
            socket.create_connection(("127.0.0.1", 9), timeout=1)
    return {"kind": kind, "process": os.getpid()}


@pytest.mark.parametrize(
    ("kind", "words"),
    {
        "busy": "more than 1 seconds",
        "asleep": "more than 1 seconds",
        "large": "more than 300 MB of memory",
        "gone": "ended with exit code 3",
        "left": "SystemExit: bye",
        "raised": "KeyError: '\\x1b[2Jxxx",
        "deep": "RecursionError",
        "odd": "ended with exit code",
        "network": "OSError",
    }.items(),
)
def test_whatever_happens_is_an_answer(kind, words):
    before = psutil.Process().children()
    with pytest.raises(SandboxError) as error:
        run_sandboxed(misbehave, kind, seconds=1 if "seconds" in words else 60, megabytes=300)
    assert words in str(error.value)
    assert len(str(error.value)) < 1_200 and "\x1b" not in str(error.value)
    assert psutil.Process().children() == before, "none is left"


def test_result_comes_from_another_process():
    found = run_sandboxed(misbehave, "good")
    assert found["kind"] == "good" and found["process"] != os.getpid()
