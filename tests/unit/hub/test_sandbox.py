"""Test that a sandboxed function fails without affecting its parent: timeout, memory, death or exception."""

import os

import psutil
import pytest

from workflow_scripts.hub.sandbox import SandboxError, run_sandboxed


def misbehave(kind: str):
    match kind:
        case "busy":
            while True:
                pass
        case "large":
            return len([bytearray(10**6) for _ in range(10**6)])
        case "gone":
            os._exit(3)
        case "raised":
            raise KeyError("\x1b[2J" + "x" * 5_000)
    return [kind, os.getpid()]


@pytest.mark.parametrize(
    ("kind", "words"),
    {
        "busy": "more than 1 seconds",
        "large": "more than 300 MB of memory",
        "gone": "ended without an answer",
        "raised": "KeyError: '\\x1b[2Jxxx",
    }.items(),
)
def test_misbehaviour_is_an_error(kind, words):
    before = psutil.Process().children()
    with pytest.raises(SandboxError) as error:
        run_sandboxed(misbehave, kind, seconds=1 if kind == "busy" else 60, megabytes=300)
    assert words in str(error.value) and len(str(error.value)) < 1_200
    assert psutil.Process().children() == before


def test_result_comes_from_another_process():
    kind, process = run_sandboxed(misbehave, "good")
    assert kind == "good" and process != os.getpid()
