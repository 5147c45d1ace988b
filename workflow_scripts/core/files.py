"""Files that are either whole or absent, and their checksums.

Everything is written to a temporary sibling, flushed to the disk and renamed over its target, so a
job killed at any moment leaves the old file, the new file or nothing. Folders are flushed too, a new
one in the folder that has it: a name that a power cut takes back is a lost file. The temporary name
carries host and process, so the next writer of the same target can sweep away what a killed one left.
"""

import glob
import hashlib
import json
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

# Names the folder in which a job makes its temporary ones: it goes when the job has ended, also if it was killed.
TEMPORARY = "CHORUS_TEMPORARY"


def temporary_folder(prefix: str) -> tempfile.TemporaryDirectory[str]:
    """Make a folder that goes with the block, and with the job."""
    return tempfile.TemporaryDirectory(prefix=prefix, dir=os.environ.get(TEMPORARY))


def sha256_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_bytes(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def sha256_text(text: str) -> str:
    return sha256_bytes(text.encode())


def canonical_json(value: Any) -> str:
    """The one spelling of a JSON value: sorted keys, no spaces, no NaN."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def sha256_json(value: Any) -> str:
    return sha256_text(canonical_json(value))


def leaves_its_folder(path: str) -> bool:
    """Whether a relative path, as somebody else has written it, is anything but that."""
    pure = PurePosixPath(path)
    odd = "\\" in path or any(ord(character) < 32 for character in path)
    return pure.is_absolute() or ".." in pure.parts or odd


_unseen: set[Path] = set()  # folders that atomic_dir has not put into their place yet


@contextmanager
def atomic_path(target: Path | str) -> Iterator[Path]:
    """Give a temporary path to write a file to; rename it to `target` if the block succeeds.

    Inside a folder of `atomic_dir`, which is flushed and renamed as a whole, that would only cost time.
    """
    target = Path(target)
    if not _unseen.isdisjoint(target.parents):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)  # it may be a link to a file that stays
        yield target
        return
    temporary = _fresh_sibling(target)
    try:
        yield temporary
        _flush_to_disk(temporary)
        temporary.replace(target)
        _flush_to_disk(target.parent)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


@contextmanager
def atomic_dir(target: Path | str) -> Iterator[Path]:
    """Give a temporary folder to fill; rename it to `target` (replacing it) if the block succeeds."""
    target = Path(target)
    temporary = _fresh_sibling(target)
    temporary.mkdir()
    _unseen.add(temporary)
    try:
        yield temporary
        for path in (*temporary.rglob("*"), temporary):
            _flush_to_disk(path)
        retired = temporary.with_name(temporary.name + "-old")
        if target.is_dir() and not target.is_symlink():
            target.replace(retired)  # a folder cannot be renamed onto one that is not empty
        temporary.replace(target)
        _flush_to_disk(target.parent)
        shutil.rmtree(retired, ignore_errors=True)
    finally:
        _unseen.discard(temporary)
        shutil.rmtree(temporary, ignore_errors=True)


def is_altered(path: Path, sha256: str) -> str | None:
    """The sentence about a file that is missing, or not the one that had this checksum."""
    if not path.is_file():
        return f"{path} is missing."
    if sha256_file(path) != sha256:
        return f"{path} was altered: its sha256 is not the one that was noted."
    return None


def read_json(path: Path) -> Any:
    """Read a JSON file; None where there is none that can be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def write_text(target: Path | str, text: str) -> None:
    with atomic_path(target) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(target: Path | str, value: Any) -> None:
    """Indented for people, keys in the order given, NaN refused."""
    write_text(target, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def _fresh_sibling(target: Path) -> Path:
    _make_folder(target.parent)
    stem = f".{target.name}.tmp-{socket.gethostname()}-"
    for leftover in target.parent.glob(glob.escape(stem) + "*"):
        process = leftover.name[len(stem) :].removesuffix("-old")
        if process.isdigit() and int(process) != os.getpid() and not is_running(int(process)):
            shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink(missing_ok=True)
    fresh = target.with_name(f"{stem}{os.getpid()}")
    if fresh.is_dir():
        shutil.rmtree(fresh)
    return fresh


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        _flush_to_disk(folder.parent)


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _flush_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
