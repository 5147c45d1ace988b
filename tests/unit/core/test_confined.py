"""What is looked at in a process of its own ends alone: by time, memory, death or whatever it raises."""

import errno
import os
import signal
import sys
import time

import psutil
import pytest
from workflow_scripts.core.confined import NoAnswer, each_confined


def looked_at(thing: str):  # noqa: C901 (one case a misfortune)
    match thing:
        case "busy":
            while True:
                pass
        case "asleep":
            time.sleep(1_000)
        case "large":
            return len([bytearray(10**6) for _ in range(10**6)])
        case "killed":
            os.kill(os.getpid(), signal.SIGUSR1)
        case "gone":
            os._exit(3)
        case "left":
            sys.exit("bye")
        case "raised":
            raise KeyError("\x1b[2J" + "x" * 5_000)
        case "deep":
            return looked_at(thing)
        case "odd":
            return object()
        case "long":
            return "x" * 20_000_000
        case "full":
            raise OSError(errno.ENOSPC, "No space left on device")
    return {"thing": thing, "process": os.getpid()}


BAD = {
    "busy": "took more than 1 seconds",
    "asleep": "took more than 1 seconds",
    "large": "took more than 300 MB of memory",
    "killed": "ended with SIGUSR1",
    "gone": "ended with exit code 3",
    "left": "SystemExit: bye",
    "raised": "KeyError: '\\x1b[2Jxxx",
    "deep": "RecursionError",
    "odd": "ended with",
    "long": "ended with",
}


def test_each_bad_one_is_an_answer_about_itself_and_the_rest_is_looked_at():
    things = [one for bad in BAD for one in (f"before {bad}", bad)] + ["last"]
    before = psutil.Process().children()
    found = dict(zip(things, each_confined(looked_at, things, 1, 300), strict=True))
    for bad, words in BAD.items():
        assert isinstance(found[bad], NoAnswer) and words in found[bad].reason, found[bad]
        assert len(found[bad].reason) < 1_200 and "\x1b" not in found[bad].reason
        assert found[f"before {bad}"]["thing"] == f"before {bad}"
    assert found["last"]["process"] != os.getpid()
    assert psutil.Process().children() == before, "none is left"


def test_one_process_does_while_all_goes_well_and_what_it_prints_is_said_once(capfd):
    print("said before", flush=False)
    found = each_confined(lambda thing: print(thing) or os.getpid(), list("abc"))
    assert len(set(found)) == 1
    assert capfd.readouterr().out.split("\n") == ["said before", "a", "b", "c", ""]


def test_what_the_machine_did_is_nobodys_answer():
    with pytest.raises(OSError, match="No space left") as raised:
        each_confined(looked_at, ["a", "full", "b"])
    assert raised.value.errno == errno.ENOSPC


def test_nothing_is_started_for_nothing(monkeypatch):
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("a process was started"))
    assert each_confined(looked_at, []) == []
