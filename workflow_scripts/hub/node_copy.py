"""A copy of a model on the node's own disk, where the cluster asks for it: a shared one is slow for all.

`export CHORUS_NODE_HUB='$TMPDIR/chorus-hub'` before Snakemake starts; what follows a `$` is looked up on
the node. It is a matter of the machine, not of the results, so it stands in no config and reruns
nothing. Jobs of one node share the copy.
"""

import fcntl
import os
import shutil
from pathlib import Path

from workflow_scripts.core.files import atomic_dir
from workflow_scripts.hub.manifest import Manifest, differing_sizes

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
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # one job copies, the others of this node wait for it
            if not target.is_dir() or differing_sizes(target, manifest):
                _copy(folder, manifest, target)
    except OSError as error:
        print(
            f"{manifest.repository} cannot be copied to {target} ({error}); reading from {folder}."
        )
        return folder
    return target


def _copy(folder: Path, manifest: Manifest, target: Path) -> None:
    size = sum(file.size for file in manifest.files)
    if shutil.disk_usage(target.parent).free < size:
        raise OSError(f"{size / 1e9:.1f} GB are not free there")
    with atomic_dir(target) as temporary:
        for file in manifest.files:
            copy = temporary / file.path
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / file.path, copy)
