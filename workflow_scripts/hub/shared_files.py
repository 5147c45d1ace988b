"""The same model at another commit, or for another study, in the folder beside: what both have is fetched once."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from workflow_scripts.core.files import atomic_path
from workflow_scripts.hub.link_files import link_or_copy
from workflow_scripts.hub.remote import RemoteFile


@contextmanager
def one_fetch_at_a_time(folder: Path) -> Iterator[None]:
    """Wait for another fetch of this repository, so that what it brings is there to be taken."""
    lock = folder.with_name(f".{_repository(folder)}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a") as file:
        with suppress(OSError):  # a file system without locks: then some of it is fetched twice
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print(
                    "Waiting for another fetch of this repository, to take what it brings.",
                    flush=True,
                )
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def take_from_beside(file: RemoteFile, folder: Path) -> bool:
    """Make `file` a second name of the same bytes in a folder beside, if one has them."""
    for other in sorted(folder.parent.glob("*")):
        found = other / file.path
        if other != folder and _repository(other) == _repository(folder) and file.matches(found):
            with atomic_path(folder / file.path) as temporary:
                link_or_copy(found, temporary)
            return True
    return False


def _repository(folder: Path) -> str:
    return folder.name.partition("@")[0]
