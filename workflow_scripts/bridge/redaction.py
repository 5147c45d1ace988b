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

from workflow_scripts.core.clean_text import clean_lines
from workflow_scripts.core.files import TEMPORARY

_SECRET = re.compile(r"(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|KEY|CREDENTIALS?)$", re.IGNORECASE)
_SHORTEST_SECRET = 8  # a shorter value is a switch, and would be found in words
_SECONDS_TO_WRITE = 10.0


def masked(text: str, hidden: list[str]) -> str:
    """Replace secrets, and what a terminal would obey."""
    text = clean_lines(text)
    for secret in hidden:
        text = text.replace(secret, "<token>")
    return text


def secrets_of_environment() -> list[str]:
    """List the secrets of the environment, the longest first, since one may begin as another does."""
    values = {value for name, value in os.environ.items() if _SECRET.search(name)}
    for value in os.environ.values():
        with suppress(ValueError):  # no address
            values.add(urlsplit(value).password or "")
    return sorted(
        (value for value in values if len(value) >= _SHORTEST_SECRET), key=len, reverse=True
    )


@contextmanager
def output_into(log: Path) -> Iterator[None]:
    """Send what this process and its children print into the log; when the block ends, all of it is there."""
    log.parent.mkdir(parents=True, exist_ok=True)
    end = secrets.token_bytes(16).hex().encode()
    reading, writing = os.pipe()
    answers, answer = os.pipe()
    temporary = tempfile.mkdtemp(prefix="chorus-")
    with log.open("wb", buffering=0) as file:
        if os.fork() == 0:
            os.setsid()  # what kills the group of the job leaves this process alone
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)  # it ends when nobody can say anything more
            _copy_output(reading, file.fileno(), answer, end, temporary)
    os.close(reading)
    os.close(answer)
    os.read(answers, 1)  # it is out of reach of what kills this job
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
            select.select([answers], [], [], _SECONDS_TO_WRITE)
        os.close(answers)


def _copy_output(reading: int, log: int, answer: int, end: bytes, temporary: str) -> None:
    """Copy what is printed into the log, in the process of its own, which never returns from here."""
    try:
        for number, descriptor in enumerate(
            [fcntl(descriptor, F_DUPFD, 3) for descriptor in (reading, log, answer)]
        ):
            os.dup2(descriptor, number)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.write(2, b".")
        hidden, rest = secrets_of_environment(), b""
        while chunk := os.read(0, 65_536):
            rest += chunk
            is_end = end in rest
            whole = len(rest) if is_end else max(rest.rfind(b"\n"), rest.rfind(b"\r")) + 1
            _write(masked(rest[:whole].replace(end, b"").decode(errors="replace"), hidden))
            rest = rest[whole:]
            if is_end:
                os.write(2, b".")
        _write(masked(rest.decode(errors="replace"), hidden))
    finally:
        shutil.rmtree(temporary, ignore_errors=True)  # of a job that was killed
        os._exit(0)


def _write(text: str) -> None:
    data = text.encode()
    with suppress(OSError):  # a full disk: the job goes on, and fails where it needs the disk
        while data:
            data = data[os.write(1, data) :]
