"""Write what a job prints into its log, without tokens and without what a terminal would obey.

Its output goes through a process of its own, so that compiled code and children are read too, and what is said last
is kept however the job ends.
"""

import os
import re
import secrets
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from workflow_scripts.core.clean_text import clean_lines

_SECRET = re.compile(r"(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|KEY|CREDENTIALS?)$", re.IGNORECASE)
_MIN_LENGTH = 8  # a shorter value is a switch, and would be found in words


@contextmanager
def log_output(log: Path) -> Iterator[None]:
    """Send what this process and its children print into the log; when the block ends, all of it is there."""
    log.parent.mkdir(parents=True, exist_ok=True)
    end = secrets.token_hex(16)
    source, output = os.pipe()
    answers, answer = os.pipe()
    if os.fork() == 0:
        os.close(output)
        _copy_output(source, log, answer, end)
    os.close(source)
    os.close(answer)
    os.read(answers, 1)  # the copying process is out of reach of what kills this job
    _replace_output(output)
    sys.stdout = open(1, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stdout
    try:
        yield
    finally:
        with suppress(OSError):
            print(end, flush=True)
        os.read(answers, 1)
        os.close(answers)
        _replace_output(os.open(os.devnull, os.O_WRONLY))


def _replace_output(descriptor: int) -> None:
    for number in (1, 2):
        os.dup2(descriptor, number)
    os.close(descriptor)


def _copy_output(source: int, log: Path, answer: int, end: str) -> None:
    """Copy lines into the log until the one with the end, in the process of its own, which never returns from here."""
    try:
        os.setsid()  # what kills the group of the job leaves this process alone
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        hidden = list_secrets()
        with (
            log.open("wb", buffering=0) as target,
            open(source, encoding="utf-8", errors="replace") as lines,
        ):
            os.write(answer, b".")
            for line in lines:
                text, is_end, _ = line.partition(end)
                text = clean_lines(text)
                for secret in hidden:
                    text = text.replace(secret, "<token>")
                # On a full disk the job goes on, and fails where it needs the disk.
                with suppress(OSError):
                    target.write(text.encode())
                if is_end:
                    break
    finally:
        os._exit(0)


def list_secrets() -> list[str]:
    """List the secrets of the environment, the longest first, since one may begin as another does."""
    values = {value for name, value in os.environ.items() if _SECRET.search(name)}
    for value in os.environ.values():
        with suppress(ValueError):  # no address
            values.add(urlsplit(value).password or "")
    return sorted((value for value in values if len(value) >= _MIN_LENGTH), key=len, reverse=True)
