"""Look at what strangers sent in a process of its own: whatever happens there is an answer about them alone.

The process is a fork, which costs milliseconds, and looks at one thing after the other. One that takes too long or
too much memory, or dies, is replaced, and the rest is looked at all the same.
"""

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

from workflow_scripts.core.clean_text import shortened
from workflow_scripts.core.machine import machine_problem

SECONDS, MEGABYTES = 60, 4_000
_POLL_SECONDS = 0.2
_STATM = Path("/proc/self/statm")  # of Linux: how many pages there are, and of these in memory
_LONGEST_ANSWER = 10_000_000  # bytes
_ANSWERED, _FAILED, _MACHINE = "answered", "failed", "machine"
Thing = TypeVar("Thing")


@dataclass(frozen=True)
class NoAnswer:
    """Looking at it came to no end of its own; `reason` says how it ended."""

    reason: str


def each_confined(
    look: Callable[[Thing], Any],
    things: Sequence[Thing],
    seconds: int = SECONDS,
    megabytes: int = MEGABYTES,
) -> list[Any | NoAnswer]:
    """What `look` says of each, as JSON has it. What is the machine's fault is raised here."""
    found: list[Any | NoAnswer] = []
    worker: _Worker | None = None
    try:
        for thing in range(len(things)):
            worker = worker or _Worker(lambda at: look(things[at]), seconds, megabytes)
            answer = worker.ask(thing)
            if isinstance(answer, NoAnswer):
                worker.end()
                worker = None
            found.append(answer)
    finally:
        if worker:
            worker.end()
    return found


class _Worker:
    def __init__(self, look: Callable[[int], Any], seconds: int, megabytes: int):
        self._seconds, self._megabytes = seconds, megabytes
        ours, theirs = Pipe()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # or both would say it
        with warnings.catch_warnings():  # of other threads, of which the fork needs none
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process = os.fork()
        if self._process == 0:
            ours.close()
            _answer_all(theirs, look, seconds, megabytes)
        theirs.close()
        self._connection = ours
        self._at_first = _resident_mb(self._process)

    def ask(self, at: int) -> Any | NoAnswer:
        until = time.monotonic() + self._seconds + 1
        try:
            self._connection.send_bytes(str(at).encode())
            while not self._connection.poll(_POLL_SECONDS):
                if time.monotonic() > until:
                    return self._too_long()
                if _resident_mb(self._process) > self._at_first + self._megabytes:
                    return self._too_much()
            how, said = json.loads(self._connection.recv_bytes(_LONGEST_ANSWER))
        except (OSError, EOFError):
            return self._why_it_ended()
        if how == _MACHINE:
            raise OSError(*said)
        if how == _FAILED:
            return NoAnswer(said) if said else self._too_much()
        return said

    def end(self) -> None:
        self._connection.close()
        if self._process:
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
            self._process = 0

    def _why_it_ended(self) -> NoAnswer:
        os.kill(self._process, signal.SIGKILL)  # where it closed the connection and lives
        ended = os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])
        self._process = 0
        if ended == -signal.SIGXCPU:
            return self._too_long()
        how = signal.Signals(-ended).name if ended < 0 else f"exit code {ended}"
        return NoAnswer(f"the process that looked at it ended with {how}")

    def _too_long(self) -> NoAnswer:
        return NoAnswer(f"looking at it took more than {self._seconds} seconds")

    def _too_much(self) -> NoAnswer:
        return NoAnswer(f"looking at it took more than {self._megabytes:,} MB of memory")


def _answer_all(
    connection: Connection, look: Callable[[int], Any], seconds: int, megabytes: int
) -> None:
    """In the fork, which never returns from here."""
    try:
        os.setpgid(0, 0)  # a terminal's Ctrl-C is the parent's, which ends this
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        if _STATM.exists():  # else the parent alone watches
            _limit(resource.RLIMIT_AS, (_statm("self", 0) + megabytes) * 10**6)
        _limit(resource.RLIMIT_CORE, 0)
        while True:
            at = int(connection.recv_bytes())
            _limit(resource.RLIMIT_CPU, int(time.process_time()) + seconds)
            answer = json.dumps(_answer(look, at)).encode()
            sys.stdout.flush()
            connection.send_bytes(answer)
    except BaseException:  # the parent is gone, or memory is
        os._exit(1)


def _answer(look: Callable[[int], Any], at: int) -> tuple[str, Any]:
    try:
        return _ANSWERED, look(at)
    except MemoryError:
        return _FAILED, ""
    except BaseException as error:  # a stranger's files may raise anything, SystemExit too
        its_own = isinstance(error, OSError) and error.errno == errno.ENOMEM
        if isinstance(error, OSError) and not its_own and machine_problem(error):
            return _MACHINE, [error.errno, str(error)]
        said = shortened(str(error)).rstrip(".") or "without a word"
        return _FAILED, f"looking at it failed ({type(error).__name__}: {said})"


def _limit(what: int, most: int) -> None:
    """The soft limit alone, which can be raised for the next."""
    hard = resource.getrlimit(what)[1]
    resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _resident_mb(process: int) -> int:
    if _STATM.exists():
        return _statm(str(process), 1)
    command = ["ps", "-o", "rss=", "-p", str(process)]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    return int(said.stdout.strip() or 0) // 1000


def _statm(process: str, at: int) -> int:
    try:
        pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()
    except OSError:  # it has ended, which its connection will say
        return 0
    return int(pages[at]) * resource.getpagesize() // 10**6
