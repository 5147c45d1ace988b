"""Write files atomically, and compute their checksums.

Every file is written in a temporary folder beside its target and renamed to it, so a job killed at any moment leaves
the old file, the new file or none. The next writer of a target removes what an earlier one left. If the earlier writer
still runs, for instance a job that Slurm has replaced, it fails, and the target has the content of the newer one.
"""

import glob
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any


def hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def format_canonical_json(value: Any) -> str:
    """Format a JSON value canonically: sorted keys, no spaces, no NaN."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def hash_json(value: Any) -> str:
    return hash_text(format_canonical_json(value))


@contextmanager
def open_atomic_path(target: Path) -> Iterator[Path]:
    """Yield a temporary path to write a file to; rename it to `target` if the block succeeds."""
    with _open_temporary_folder(target) as folder:
        temporary = folder / target.name
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(target)


@contextmanager
def open_atomic_dir(target: Path) -> Iterator[Path]:
    """Yield a temporary folder to fill; replace `target`, or the folder it links to, by it if the block succeeds."""
    target = target.resolve()
    with _open_temporary_folder(target) as folder:
        temporary = folder / target.name
        temporary.mkdir()
        yield temporary
        # A folder cannot be renamed onto one that is not empty.
        with suppress(FileNotFoundError):
            target.replace(folder / ".old")
        temporary.replace(target)


@contextmanager
def _open_temporary_folder(target: Path) -> Iterator[Path]:
    """Yield a hidden folder beside `target`, after removing those of killed writers."""
    target.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{target.name}.tmp-"
    for leftover in target.parent.glob(f"{glob.escape(prefix)}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    with TemporaryDirectory(
        prefix=prefix, dir=target.parent, ignore_cleanup_errors=True
    ) as temporary:
        yield Path(temporary)


def describe_alteration(path: Path, sha256: str) -> str | None:
    """Describe the problem of a file that is missing or has another checksum; return None if it matches."""
    if not path.is_file():
        return f"{path} is missing."
    if hash_file(path) != sha256:
        return f"{path} was altered: its sha256 is not the recorded one."
    return None


def read_json(path: Path) -> Any:
    """Read a JSON file; return None if it is missing or invalid."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def write_text(target: Path, text: str) -> None:
    with open_atomic_path(target) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(target: Path, value: Any) -> None:
    """Write indented JSON in the order of its keys; refuse NaN."""
    write_text(target, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
