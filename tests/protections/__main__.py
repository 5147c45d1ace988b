"""Remove each protection of the table in a copy of the tree, and demand that its test fails.

python -m tests.protections [--only WORD...] | --document
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.protections.table import DOCUMENT, ROOT, TABLES, Protection, document, rows
from workflow_scripts.core.files import write_text

_PYTEST = ("-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider")
_FAILED, _SECONDS = 1, 300  # pytest's exit code where a test fails, and what a single one may take


def main(only: list[str]) -> int:
    held = [(row.what, one) for table in TABLES for row in rows(table) for one in row.held_by]
    if only:
        about = {one: f"{what} {one.file} {one.test}" for what, one in held}
        held = [(what, one) for what, one in held if any(word in about[one] for word in only)]
    with TemporaryDirectory(prefix="chorus-protections-") as folder:
        copy = _copied(Path(folder, "tree"))
        code, said = _run(copy, *sorted({one.test for _, one in held}), seconds=None)
        if code:
            print(f"{said}\nThese fail with every protection in its place; mend them first.")
            return 1
        missed = [what for what, one in held if not _is_caught(copy, what, one)]
    print(
        f"{len(held) - len(missed)} of {len(held)} removed protections were noticed by their tests."
    )
    return bool(missed)


def _copied(target: Path) -> Path:
    """What git has or would take; no results, and nothing that is installed."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


def _is_caught(copy: Path, what: str, one: Protection) -> bool:
    began, path = time.monotonic(), copy / one.file
    whole = path.read_bytes()
    path.write_text(one.removed(copy), encoding="utf-8")
    try:
        code, said = _run(copy, one.test, seconds=_SECONDS)
    finally:
        path.write_bytes(whole)
    is_caught = code == _FAILED
    lines = [line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
    why = lines[-1].partition(" - ")[2] if lines and is_caught else said[-500:]
    seconds = time.monotonic() - began
    line = one.old.strip().splitlines()[0]
    print(f"{'caught' if is_caught else 'MISSED'} {seconds:4.0f} s  {what}: {one.file}, {line}")
    print(f"               {why}", flush=True)
    return is_caught


def _run(copy: Path, *tests: str, seconds: float | None) -> tuple[int, str]:
    """How pytest ends, and what it says; nothing that a test has started is left."""
    # Stale bytecode would bring a protection back: two changes within a second may have one size.
    own = {"PYTHONDONTWRITEBYTECODE": "1", "CHORUS_NO_SKIPS": "1", "COLUMNS": "400"}
    run = subprocess.Popen(
        [sys.executable, *_PYTEST, *tests],
        cwd=copy,
        env=os.environ | own,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = run.communicate(timeout=seconds)
        return run.returncode, said
    except subprocess.TimeoutExpired:
        return -1, f"It did not end within {seconds} seconds."
    finally:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", nargs="*", help="of these a row's words, file or test must hold one"
    )
    parser.add_argument(
        "--document", action="store_true", help=f"write the tables of {DOCUMENT.name}"
    )
    asked = parser.parse_args()
    if asked.document:
        write_text(DOCUMENT, document())
    else:
        sys.exit(main(asked.only))
