"""What a job prints, without the tokens of its environment and without what a terminal would obey.

Its output goes through a process of its own, so that compiled code and children are read too, and what is said last
is kept however the job ends. That process also removes the temporary folders of a job that was killed.
"""

import os
import re
import secrets
import select
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import F_DUPFD, fcntl
from pathlib import Path
from urllib.parse import urlsplit

from workflow_scripts.core.clean_text import plain_lines
from workflow_scripts.core.files import TEMPORARY

_SECRET = re.compile(r"(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|KEY|CREDENTIALS?)$", re.IGNORECASE)
_SHORTEST_SECRET = 8  # a shorter value is a switch, and would be found in words
_LONGEST_LINE = 1_000_000  # bytes; what has no end is written all the same
_SECONDS_TO_WRITE = 10.0


def masked(text: str, hidden: list[str]) -> str:
    text = plain_lines(text)
    for secret in hidden:
        text = text.replace(secret, "<token>")
    return text


def secrets_of_environment() -> list[str]:
    """The longest first, since one may begin as another does."""
    found = {value for name, value in os.environ.items() if _SECRET.search(name)}
    for value in os.environ.values():
        with suppress(ValueError):  # no address
            found.add(urlsplit(value).password or "")
    return sorted((one for one in found if len(one) >= _SHORTEST_SECRET), key=len, reverse=True)


@contextmanager
def output_into(log: Path) -> Iterator[None]:
    """From now on, of this process and its children; when the block ends, all that was said is in the log."""
    log.parent.mkdir(parents=True, exist_ok=True)
    end = secrets.token_bytes(16).hex().encode()
    reading, writing = os.pipe()
    told, tell = os.pipe()
    temporary = tempfile.mkdtemp(prefix="chorus-")
    with log.open("wb", buffering=0) as file:
        if os.fork() == 0:
            os.setsid()  # what kills the group of the job leaves this process alone
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)  # it ends when nobody can say anything more
            os.write(tell, b".")
            _write_all(reading, file.fileno(), tell, end, temporary)
    os.close(reading)
    os.close(tell)
    os.read(told, 1)  # it is out of reach of what kills this job
    for descriptor in (1, 2):
        os.dup2(writing, descriptor)
    os.close(writing)
    sys.stdout = open(1, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stdout
    os.environ[TEMPORARY] = temporary
    try:
        yield
    finally:
        del os.environ[TEMPORARY]
        shutil.rmtree(temporary, ignore_errors=True)
        with suppress(OSError):
            sys.stdout.flush()
            os.write(1, end)
            select.select([told], [], [], _SECONDS_TO_WRITE)
        os.close(told)


def _write_all(reading: int, log: int, tell: int, end: bytes, temporary: str) -> None:
    """In the process of its own, which never returns from here."""
    try:
        held = [fcntl(descriptor, F_DUPFD, 3) for descriptor in (reading, log, tell)]
        for at, descriptor in enumerate(held):
            os.dup2(descriptor, at)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        hidden, rest = secrets_of_environment(), b""
        while some := os.read(0, 65_536):
            rest += some
            whole = max(rest.rfind(b"\n"), rest.rfind(b"\r")) + 1
            if len(rest) - whole > _LONGEST_LINE:
                whole = len(rest) - max(map(len, hidden), default=0)
            if is_end := end in rest:
                rest = rest.replace(end, b"")
                whole = len(rest)
            _write(masked(rest[:whole].decode(errors="replace"), hidden))
            rest = rest[whole:]
            if is_end:
                os.write(2, b".")
        _write(masked(rest.decode(errors="replace"), hidden))
    finally:
        shutil.rmtree(temporary, ignore_errors=True)  # of a job that was killed
        os._exit(0)


def _write(text: str) -> None:
    left = text.encode()
    with suppress(OSError):  # a full disk: the job goes on, and fails where it needs the disk
        while left:
            left = left[os.write(1, left) :]
