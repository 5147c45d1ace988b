"""Write the output of a job to its log, without secrets and terminal control characters.

The output passes through a separate process. So the log has the output of compiled code and child processes too, and
the last lines even if the job is killed.
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
_MIN_LENGTH = 8  # a shorter value is a flag such as "1", and would match in ordinary words


@contextmanager
def log_output(log: Path) -> Iterator[None]:
    """Redirect the output of this process and its children to the log, which is complete when the block ends."""
    log.parent.mkdir(parents=True, exist_ok=True)
    end = secrets.token_hex(16)
    source, output = os.pipe()
    answers, answer = os.pipe()
    if os.fork() == 0:
        os.close(output)
        _copy_output(source, log, answer, end)
    os.close(source)
    os.close(answer)
    # Wait until the copying process has left this process group and ignores signals.
    os.read(answers, 1)
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
    """Copy lines to the log until the line with `end`, in the separate process, which then exits."""
    try:
        os.setsid()  # killing the job's process group does not kill this process
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        hidden = compile_secrets()
        with (
            log.open("wb", buffering=0) as target,
            open(source, encoding="utf-8", errors="replace") as lines,
        ):
            os.write(answer, b".")
            for line in lines:
                text, is_end, _ = line.partition(end)
                text = hidden.sub("<token>", clean_lines(text))
                # If the disk is full, the job continues until it writes a file itself.
                with suppress(OSError):
                    target.write(text.encode())
                if is_end:
                    break
    finally:
        os._exit(0)


def compile_secrets() -> re.Pattern[str]:
    """Compile a pattern of the secrets in the environment, longest first, because one may be another's prefix."""
    values = {value for name, value in os.environ.items() if _SECRET.search(name)}
    for value in os.environ.values():
        with suppress(ValueError):  # not a URL
            values.add(urlsplit(value).password or "")
    patterns = [re.escape(value) for value in values if len(value) >= _MIN_LENGTH]
    return re.compile("|".join(sorted(patterns, key=len, reverse=True)) or "(?!)")
