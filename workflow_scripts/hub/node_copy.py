"""A copy of a model on the node's own disk, where the cluster asks for it: a shared one is slow for all.

`export CHORUS_NODE_HUB='$TMPDIR/chorus-hub'` before Snakemake starts; what follows a `$` is looked up on
the node. It is a matter of the machine, not of the results, so it stands in no config and reruns
nothing. Jobs of one node share the copy. The folder is its user's alone, since whoever may write there could put
another model in its place.
"""

import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from workflow_scripts.core.files import atomic_dir
from workflow_scripts.hub.manifest import Manifest, verify

VARIABLE = "CHORUS_NODE_HUB"


def on_this_node(folder: Path, manifest: Manifest) -> Path:
    """The folder to load from: the node's copy, made if need be, or the shared one where it cannot be."""
    wanted = os.path.expandvars(os.environ.get(VARIABLE, ""))
    if not wanted:
        return folder
    if "$" in wanted:
        print(f"{VARIABLE} is {wanted!r}, which this node does not know; reading from {folder}.")
        return folder
    target = Path(wanted) / manifest.repository.replace("/", "--") / manifest.commit
    try:
        _take_for_oneself(Path(wanted))
        target.parent.mkdir(parents=True, exist_ok=True)
        if verify(target, manifest):
            with _locked(target.with_suffix(".lock")):
                if verify(target, manifest):  # else another job has copied it meanwhile
                    _copy(folder, manifest, target)
    except OSError as error:
        print(
            f"{manifest.repository} cannot be copied to {target} ({error}); reading from {folder}."
        )
        return folder
    return target


def _take_for_oneself(folder: Path) -> None:
    """Make the folder, or refuse one into which others may write, or which they may exchange."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    around = folder.parent.stat().st_mode
    if around & (stat.S_IWGRP | stat.S_IWOTH) and not around & stat.S_ISVTX:
        raise OSError(f"others may write to {folder.parent}; expected one that they may not")
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o077:
        raise OSError(f"{folder} is not yours alone; expected your own folder of mode 700")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One job copies, the others of this node wait for it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _copy(folder: Path, manifest: Manifest, target: Path) -> None:
    size = sum(file.size for file in manifest.files)
    if shutil.disk_usage(target.parent).free < size:
        raise OSError(f"{size / 1e9:.1f} GB are not free there")
    with atomic_dir(target) as temporary:
        for file in manifest.files:
            copy = temporary / file.path
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / file.path, copy)
        if problems := verify(temporary, manifest):
            raise OSError(problems[0])
